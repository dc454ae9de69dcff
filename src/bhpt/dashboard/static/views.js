"use strict";
// Pieces of the page. Whatever comes from a study is set as text, never as markup.
bhpt.views = (() => {
  const { number, setting, configText, duration } = bhpt.model;
  const { figures } = bhpt;
  const ROWS = 200; // of a table that are put on the page

  // An element with properties and children; children are elements or text.
  const make = (tag, properties = {}, ...children) => {
    const element = document.createElement(tag);
    Object.entries(properties).forEach(([name, value]) => {
      if (name === "class") element.className = value;
      else if (name === "on") Object.entries(value).forEach(([event, act]) => element.addEventListener(event, act));
      else if (name in element && name !== "list") element[name] = value;
      else element.setAttribute(name, value);
    });
    children.flat().forEach((child) => { if (child !== null && child !== undefined) element.append(child); });
    return element;
  };

  const cell = (value) => (typeof value === "number" ? number(value, 5) : value === null || value === undefined ? "" : setting(value));

  const table = ({ caption, columns, rows }) => {
    const shown = rows.slice(0, ROWS);
    const numeric = columns.map((_, place) => shown.length > 0 && shown.every((row) => row[place] === null || typeof row[place] === "number"));
    const kind = (place) => (numeric[place] ? "number" : "");
    const more = rows.length > shown.length ? `; the first ${shown.length} of ${rows.length}, all in the CSV` : "";
    return make("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": caption },
      make("table", {},
        make("caption", {}, caption + more),
        make("thead", {}, make("tr", {}, columns.map((name, place) => make("th", { scope: "col", class: kind(place) }, name)))),
        make("tbody", {}, shown.map((row) => make("tr", {}, row.map((value, place) => make("td", { class: kind(place) }, cell(value))))))));
  };

  // Text that no spreadsheet takes for a formula.
  const csvCell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    let text = typeof value === "string" ? value : JSON.stringify(value);
    if (/^[=+\-@\t\r\n]/.test(text) && Number.isNaN(Number(text))) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };

  const download = (name, type, text) => {
    const address = URL.createObjectURL(new Blob([text], { type }));
    const link = make("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };

  const asCsv = ({ columns, rows }) => [columns, ...rows].map((row) => row.map(csvCell).join(",")).join("\n") + "\n";

  // A figure with its table, its downloads and a text that says what it shows.
  class Figure {
    constructor(name, label, size = "") {
      this.name = name;
      this.place = make("div", { class: `figure ${size}`, role: "img", "aria-label": label });
      this.details = make("details", { on: { toggle: () => this.fillTable() } }, make("summary", {}, "Show as a table"));
      this.tools = make("div", { class: "tools" },
        make("button", { type: "button", on: { click: () => this.png() } }, "PNG"),
        make("button", { type: "button", on: { click: () => download(`${name}.csv`, "text/csv", asCsv(this.drawn.table)) } }, "CSV"));
      this.element = make("div", {}, this.place, this.tools, this.details);
      this.drawn = { table: { caption: label, columns: [], rows: [] } };
    }

    draw(drawn) {
      this.drawn = drawn;
      Plotly.react(this.place, drawn.data, drawn.layout, { displaylogo: false, responsive: true, displayModeBar: "hover",
        modeBarButtonsToRemove: ["select2d", "lasso2d", "toImage"] });
      this.fillTable();
    }

    fillTable() {
      if (!this.details.open) return;
      const old = this.details.querySelector(".scroll");
      const fresh = table(this.drawn.table);
      if (old) old.replaceWith(fresh); else this.details.append(fresh);
    }

    png() {
      Plotly.downloadImage(this.place, { format: "png", filename: this.name, width: 1400, height: 800, scale: 1 });
    }
  }

  const settingsList = (settings) => make("dl", {}, Object.entries(settings)
    .filter(([, value]) => value !== null && value !== undefined)
    .flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, setting(value))]));

  const card = (title, ...children) => make("section", { class: "card", "aria-label": title }, make("h2", {}, title), ...children);

  // ---- overview -------------------------------------------------------------------------------

  class OverviewView {
    constructor() {
      this.figure = new Figure("progress", "Best value so far and what is left of the budget, over time");
      this.cards = make("div", { class: "cards" });
      this.running = make("div");
      this.element = make("div", {}, this.cards, card("Progress", this.figure.element), this.running);
    }

    draw(study) {
      const { overview, prediction } = study;
      const final = prediction && prediction.final;
      this.cards.replaceChildren(
        card(`Best ${overview.metric} so far`,
          make("p", { class: "big good" }, number(overview.best, 5)),
          overview.best_arm === null ? make("p", { class: "soft" }, `No finite ${overview.metric} yet.`)
            : make("p", { class: "soft" }, `arm ${overview.best_arm}, epoch ${overview.best_epoch}`),
          overview.config ? settingsList(overview.config) : null),
        card("Budget",
          make("p", { class: "big" }, overview.used_text),
          make("progress", { max: overview.budget, value: overview.used, "aria-label": "Used part of the budget" }),
          make("p", { class: "soft" }, `${overview.left_text} left`, overview.time_left_text ? `, about ${overview.time_left_text}` : ""),
          make("p", { class: "soft" }, `${overview.tried} of ${overview.candidates} configurations tried, ${overview.units} units, `
            + `${overview.failures ? `${overview.failures} stopped or failed, ` : ""}${duration(overview.clock)}`)),
        card("Predicted at the end",
          make("p", { class: "big" }, final ? number(final.middle) : overview.used >= overview.budget ? "budget is spent" : "not known yet"),
          final ? make("p", { class: "soft" }, `90% interval: ${number(final.low)} to ${number(final.high)}`) : null,
          make("p", { class: "soft" }, overview.mode === "min" ? "lower is better" : "higher is better")),
        card("The last decision",
          overview.last_attempt === null ? make("p", { class: "soft" }, "No unit was started yet.")
            : make("p", { class: "quote" }, overview.last_why),
          overview.last_attempt === null ? null : make("a", { href: `#why/${overview.last_attempt}` }, "Why this arm?")));
      this.figure.draw(figures.progress(study));
      const rows = overview.flights.map((flight) => [flight.arm, flight.first === flight.last ? String(flight.last) : `${flight.first}–${flight.last}`,
        duration(flight.busy_s), duration(flight.expected_s), flight.why]);
      this.running.replaceChildren(card("Running now", rows.length
        ? table({ caption: `${rows.length} of ${overview.workers} workers busy`, columns: ["arm", "epoch", "for", "expected", "why"], rows })
        : make("p", { class: "soft" }, "Nothing runs.")));
    }
  }

  // ---- curves ---------------------------------------------------------------------------------

  class CurvesView {
    constructor() {
      this.options = { log: false, fans: "best", chosen: null };
      this.figure = new Figure("curves", "Learning curves of all arms with predicted continuations", "tall");
      this.side = make("div", { "aria-live": "polite" });
      this.log = make("input", { type: "checkbox", on: { change: () => this.set({ log: this.log.checked }) } });
      this.fans = make("select", { on: { change: () => this.set({ fans: this.fans.value }) } },
        ...[["best", "the best five"], ["running", "those running"], ["chosen", "the chosen arm"], ["none", "none"]]
          .map(([value, text]) => make("option", { value }, text)));
      this.arm = make("input", { type: "number", min: 0, on: { change: () => this.choose(this.arm.value === "" ? null : Number(this.arm.value)) } });
      this.element = make("div", {}, card("Learning curves",
        make("div", { class: "tools" },
          make("label", {}, this.log, " logarithmic"), make("label", {}, "Predictions for ", this.fans),
          make("label", {}, "Arm ", this.arm)),
        this.figure.element), this.side);
      this.isBound = false;
    }

    set(options) {
      Object.assign(this.options, options);
      if (this.study) this.draw(this.study);
    }

    choose(arm) {
      this.arm.value = arm === null ? "" : arm;
      this.set({ chosen: this.study && this.study.arms.has(arm) ? arm : null });
    }

    draw(study) {
      this.study = study;
      this.figure.draw(figures.curves(study, this.options));
      if (!this.isBound) {
        this.isBound = true;
        this.figure.place.on("plotly_click", (event) => this.choose(event.points[0].customdata));
      }
      const arm = study.arms.get(this.options.chosen);
      const end = arm && study.end(arm.arm);
      this.side.replaceChildren(...(arm ? [card(`Arm ${arm.arm}`,
        make("p", { class: "soft" }, `best ${study.overview.metric} ${number(arm.best, 5)} after ${arm.epochs} epochs`,
          end ? `; predicted to end at ${number(end[1])} (${number(end[0])} to ${number(end[2])})` : ""),
        arm.closed ? make("p", { class: "bad" }, `given up: ${arm.closed}`) : null,
        settingsList(arm.settings))] : [make("p", { class: "soft" }, "Select a curve to see its configuration.")]));
    }
  }

  return { make, table, card, Figure, settingsList, download, asCsv, OverviewView, CurvesView, configText };
})();

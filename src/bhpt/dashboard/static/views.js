"use strict";
// Pieces of the page. Whatever comes from a study is set as text, never as markup.
bhpt.views = (() => {
  const { number, counted, setting, configText, duration } = bhpt.model;
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

  const sentence = (text) => text[0].toUpperCase() + text.slice(1);

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

    // What to do when a point is clicked: it is told the point's `customdata`.
    onClick(act) {
      this.act = act;
      return this;
    }

    draw(drawn) {
      this.drawn = drawn;
      this.fillTable();
      if (!window.Plotly) return; // still on its way: the page is drawn again once it is here
      const hasPoints = drawn.data.some((trace) => trace.y.some((value) => value !== null && value !== undefined));
      Plotly.react(this.place, drawn.data, hasPoints ? drawn.layout : figures.nothing(), { displaylogo: false, responsive: true, displayModeBar: "hover",
        modeBarButtonsToRemove: ["select2d", "lasso2d", "toImage"] });
      if (this.act && !this.isBound) {
        this.isBound = true;
        this.place.on("plotly_click", (event) => this.act(event.points[0].customdata));
      }
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

  const ADVISED_MS = 10000; // between two looks at what more budget would buy

  class OverviewView {
    constructor(context) {
      this.context = context;
      this.advice = "";
      this.advisedAt = -Infinity;
      this.figure = new Figure("progress", "Best value so far and what is left of the budget, over time");
      this.cards = make("div", { class: "cards" });
      this.running = make("div");
      this.element = make("div", {}, this.cards, card("Progress", this.figure.element), this.running);
    }

    draw(study) {
      const { overview, final } = study;
      const over = final ? "" : study.over;
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
            + `${overview.failures ? `${overview.failures} stopped or failed, ` : ""}${duration(overview.clock)}`),
          overview.failures ? make("a", { href: "#timeline" }, "What failed?") : null),
        card(over ? sentence(over) : "Predicted at the end",
          over ? null : make("p", { class: "big" }, final ? number(final.middle) : "not known yet"),
          final ? make("p", { class: "soft" }, number(final.low) === number(final.high) ? "no gain in sight"
            : `90% interval: ${number(final.low)} to ${number(final.high)}`) : null,
          over ? null : make("p", { class: "soft" }, overview.mode === "min" ? "lower is better" : "higher is better"),
          this.advice ? make("p", {}, `${sentence(this.advice)}. `, make("a", { href: "#forecast" }, "More budget?")) : null),
        card("The last decision",
          overview.last_attempt === null ? make("p", { class: "soft" }, "No unit was started yet.")
            : make("p", { class: "quote" }, overview.last_why),
          overview.last_context ? make("p", { class: "soft" }, overview.last_context) : null,
          overview.last_attempt === null ? null : make("a", { href: `#why/${overview.last_attempt}` }, "Why this arm?")));
      this.figure.draw(figures.progress(study));
      this.advise(study);
      const lanes = new Map(study.running.map((unit) => [unit.arm, unit.lane + 1]));
      const rows = overview.flights.map((flight) => [lanes.get(flight.arm), flight.arm, flight.first === flight.last ? String(flight.last) : `${flight.first}–${flight.last}`,
        duration(flight.busy_s), duration(flight.expected_s), flight.why]).sort((a, b) => a[0] - b[0]);
      this.running.replaceChildren(card("Running now", rows.length
        ? table({ caption: `${rows.length} of ${overview.workers} workers busy`, columns: ["worker", "arm", "epoch", "for", "expected", "why"], rows })
        : make("p", { class: "soft" }, "Nothing runs.")));
    }

    // Ask what more budget would buy, now and then; the answer is there when the page is drawn next.
    async advise(study) {
      if (study.overview.best === null || performance.now() - this.advisedAt < ADVISED_MS) return;
      this.advisedAt = performance.now();
      try {
        this.advice = (await this.context.ask("forecast")).advice;
      } catch (error) { this.advice = error.message; }
      if (this.element.isConnected) this.draw(this.context.study);
    }
  }

  // ---- curves ---------------------------------------------------------------------------------

  class CurvesView {
    constructor() {
      this.options = { log: null, fans: "best", chosen: null };
      this.figure = new Figure("curves", "Learning curves of all arms with predicted continuations", "tall").onClick((arm) => this.choose(arm));
      this.side = make("div", { "aria-live": "polite" });
      this.log = make("input", { type: "checkbox", on: { change: () => this.set({ log: this.log.checked }) } });
      this.fans = make("select", { on: { change: () => this.set({ fans: this.fans.value }) } },
        ...[["best", "the three most promising"], ["running", "those running"], ["chosen", "the chosen arm"], ["none", "none"]]
          .map(([value, text]) => make("option", { value }, text)));
      this.arm = make("input", { type: "number", min: 0, on: { change: () => this.choose(this.arm.value === "" ? null : Number(this.arm.value)) } });
      this.element = make("div", {}, card("Learning curves",
        make("div", { class: "tools" },
          make("label", {}, this.log, " logarithmic"), make("label", {}, "Predictions for ", this.fans),
          make("label", {}, "Arm ", this.arm)),
        this.figure.element), this.side);
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
      if (this.options.log === null) this.log.checked = figures.suitsLog(study);
      this.figure.draw(figures.curves(study, this.options));
      const arm = study.arms.get(this.options.chosen);
      const end = arm && study.end(arm.arm);
      this.side.replaceChildren(...(arm ? [card(`Arm ${arm.arm}`,
        make("p", { class: "soft" }, `best ${study.overview.metric} ${number(arm.best, 5)} after ${counted(arm.epochs, "epoch")}`,
          end ? `; predicted to end at ${number(end[1])} (${number(end[0])} to ${number(end[2])})` : ""),
        arm.closed ? make("p", { class: "bad" }, `given up: ${arm.closed}`) : null,
        settingsList(arm.settings))] : [make("p", { class: "soft" }, "Select a curve to see its configuration.")]));
    }
  }

  // Redraws a slow answer at most this often while a study runs.
  const FRESH_MS = 5000;

  // A view of something that is asked of the server: asked again when the study has moved on.
  class AskedView {
    constructor(context, path) {
      this.context = context;
      this.path = path;
      this.body = make("div", {}, make("p", { class: "waiting" }, "Working it out …"));
      this.element = make("div", {}, this.body);
      this.asked = null;
      this.at = -Infinity;
    }

    draw(study) {
      const isNew = this.asked !== study.position;
      if (isNew && performance.now() - this.at > FRESH_MS) this.ask(study);
      else if (this.found) this.show(study, this.found);
      if (isNew) setTimeout(() => { if (this.element.isConnected && this.asked !== this.context.study.position) this.draw(this.context.study); }, FRESH_MS);
    }

    async ask(study) {
      this.asked = study.position;
      this.at = performance.now();
      try {
        this.found = await this.context.ask(this.path);
      } catch (error) {
        this.body.replaceChildren(card(this.title, make("p", { class: "soft" }, error.message)));
        return;
      }
      this.show(this.context.study, this.found);
    }
  }

  // ---- timeline -------------------------------------------------------------------------------

  class TimelineView {
    constructor(context) {
      this.context = context;
      this.rows = "workers";
      this.figure = new Figure("timeline", "Which arm had which unit on which worker", "tall").onClick((attempt) => { location.hash = `why/${attempt}`; });
      this.last = make("select", { on: { change: () => this.draw(this.study) } },
        ...[["200", "the last 200 units"], ["1000", "the last 1,000 units"], ["Infinity", "all units"]].map(([value, text]) => make("option", { value }, text)));
      const select = make("select", { on: { change: () => { this.rows = select.value; this.draw(this.study); } } },
        make("option", { value: "workers" }, "workers"), make("option", { value: "arms" }, "arms"));
      this.failures = make("div");
      this.element = make("div", {}, card("Timeline", make("div", { class: "tools" }, make("label", {}, "A row for each of the ", select), make("label", {}, "Show ", this.last)),
        this.figure.element), this.failures);
      this.tails = new Map();
    }

    draw(study) {
      this.study = study;
      this.figure.draw(figures.timeline(study, { rows: this.rows, last: Number(this.last.value) }));
      const failed = study.units.filter((unit) => unit.status === "failed").reverse().slice(0, 20);
      this.failures.replaceChildren(card("Failures", failed.length
        ? make("div", {}, failed.map((unit) => this.failure(unit)))
        : make("p", { class: "soft" }, "No unit failed.")));
    }

    failure(unit) {
      const tail = make("pre", {}, this.tails.get(unit.attempt) || "…");
      const open = async () => {
        if (this.tails.has(unit.attempt)) return;
        try {
          const found = await this.context.ask(`why/${unit.attempt}`);
          this.tails.set(unit.attempt, found.tail || "nothing was printed");
        } catch (error) { this.tails.set(unit.attempt, error.message); }
        tail.textContent = this.tails.get(unit.attempt);
      };
      return make("details", { on: { toggle: open }, open: this.tails.has(unit.attempt) },
        make("summary", {}, `unit ${unit.attempt}, arm ${unit.arm} on worker ${unit.lane + 1}: ${unit.message}`), tail);
    }
  }

  // ---- why ------------------------------------------------------------------------------------

  const EXPERTS = {
    reader: "names and ranges", documented: "documented defaults", middle: "middle of the ranges",
    earlier: "earlier studies", curves: "curves so far",
  };

  class WhyView {
    constructor(context) {
      this.context = context;
      this.attempt = null; // the last one
      this.figure = new Figure("why", "Predicted end of every arm when the decision was made");
      this.number = make("input", { type: "number", min: 0, on: { change: () => this.go(Number(this.number.value)) } });
      this.slider = make("input", { type: "range", min: 0, "aria-label": "Step", on: { change: () => this.go(Number(this.slider.value)) } });
      this.text = make("div", { "aria-live": "polite" });
      this.experts = make("div");
      const step = (by, text, label) => make("button", { type: "button", "aria-label": label, on: { click: () => this.go(this.shown + by) } }, text);
      this.element = make("div", {}, card("Why this arm?",
        make("div", { class: "tools" }, make("label", {}, "Step ", this.number), step(-1, "◀", "the step before"), this.slider, step(1, "▶", "the next step"),
          make("button", { type: "button", on: { click: () => { location.hash = "why"; } } }, "the last one")),
        this.text, this.figure.element), this.experts);
      this.shown = 0;
    }

    open(rest) {
      const wanted = Number(rest[0]);
      this.attempt = rest.length && Number.isInteger(wanted) ? wanted : null;
    }

    go(attempt) {
      const last = this.context.study.units.length - 1;
      location.hash = `why/${Math.min(Math.max(attempt, 0), last)}`;
    }

    draw(study) {
      const last = study.units.length - 1;
      if (last < 0) {
        this.text.replaceChildren(make("p", { class: "soft" }, "No unit was started yet."));
        return;
      }
      const wanted = this.attempt === null ? last : Math.min(this.attempt, last);
      this.slider.max = last;
      this.number.max = last;
      this.number.value = this.slider.value = this.shown = wanted;
      if (this.found && this.found.attempt === wanted) this.show(study);
      else if (this.asking !== wanted) this.ask(wanted);
    }

    async ask(attempt) {
      this.asking = attempt;
      let found;
      try { found = await this.context.ask(`why/${attempt}`); } catch (error) {
        this.text.replaceChildren(make("p", { class: "soft" }, error.message));
        return;
      } finally { this.asking = null; }
      if (attempt !== this.shown) { this.draw(this.context.study); return; }
      this.found = found;
      this.show(this.context.study);
    }

    // Where the chosen arm stood by what the policy minimises.
    scored(found) {
      const own = found.score[found.arms.indexOf(found.arm)];
      const known = found.score.filter((score) => score !== null);
      if (own === null || own === undefined || known.length < 2) return ".";
      const better = known.filter((score) => score < own).length;
      return better ? `, and ${better} of ${known.length} had a better score.` : ", and it had the best score.";
    }

    show(study) {
      const { found } = this;
      const came = { open: "It runs now.", observed: "It was trained.", failed: `It failed: ${found.message}` }[found.status];
      const rank = found.arms.indexOf(found.arm) + 1;
      const isPredicted = rank > 0 && found.end[rank - 1] !== null;
      const note = !found.is_recomputed ? "Only what the log keeps of this decision is shown: the chosen arm and the best few others."
        : found.recomputed_arm !== found.arm ? `Made again now, the decision would be arm ${found.recomputed_arm}: another version, policy or set of live trainers decided then.` : "";
      this.text.replaceChildren(
        make("p", { class: "quote" }, found.why),
        make("p", { class: "soft" }, `Arm ${found.arm} had ${counted(found.done, "epoch")} and got ${found.epochs} more${found.left ? `, with ${found.left} left` : ""}. ${came}`
          + (isPredicted ? ` Its predicted end was number ${rank} of ${found.arms.length}${this.scored(found)}` : " Nothing was predicted of it then.")),
        make("p", { class: "soft" }, note),
        ...(found.tail ? [make("pre", {}, found.tail)] : []),
        settingsList(found.config));
      this.experts.replaceChildren(...(found.experts.length ? [card("Who was listened to", ...this.advice(found))] : []));
      this.figure.draw(figures.decision(study, found));
    }

    // What each expert said of the arm, and how far it was trusted.
    advice(found) {
      const ordinal = (place, of) => (place === null ? "not tried by then" : `number ${place} of ${of}`);
      const agreed = (one) => (one.agreement === null ? "" : one.agreement.toFixed(2));
      const rows = found.experts.map((one) => [EXPERTS[one.name] || one.name, ordinal(one.place, one.of),
        one.trust === null ? "" : number(one.trust, 2), agreed(one)]);
      const { shown } = found.experts[0];
      return [
        make("p", { class: "soft" }, "Before an arm is trained, experts say what to expect of it: by what its names and ranges meant elsewhere, by its "
          + "distance from documented defaults and from the middle of the ranges, by earlier studies. The network that decides hears all of them together, "
          + "each with its weight, beside what the curves have shown; the more an arm has been trained, the more its own curve counts. "
          + `Agreement: how well an expert had ranked the ${shown} arms that had shown most by then, from -1 to 1.`),
        table({ caption: `What was said of arm ${found.arm}`,
          columns: ["expert", "expected it as", "weight", "agreement"], rows }),
      ];
    }
  }

  // ---- hyper-parameters -----------------------------------------------------------------------

  class ParametersView extends AskedView {
    constructor(context) {
      super(context, "parameters");
      this.title = "Hyper-parameters";
      this.importance = new Figure("importance", "How much each hyper-parameter matters", "low");
      this.slice = new Figure("slice", "Predicted end by one hyper-parameter", "low");
      this.parallel = new Figure("parallel", "Settings of all arms, a line for each");
      this.together = card("All together", this.parallel.element);
      this.hints = make("div");
      this.select = make("select", { on: { change: () => this.show(this.context.study, this.found) } });
      this.content = [
        card("Do the ranges fit?", this.hints),
        make("div", { class: "two" },
          card("What matters", this.importance.element,
            make("p", { class: "soft" }, "The share of the differences between arms that a hyper-parameter explains alone, each arm predicted from the others.")),
          card("One by one", make("div", { class: "tools" }, make("label", {}, "Hyper-parameter ", this.select)), this.slice.element)),
        this.together,
      ];
    }

    show(study, found) {
      if (!found.described.length || !found.arms.length) {
        this.body.replaceChildren(card(this.title, make("p", { class: "soft" }, "Too little was tried yet.")));
        return;
      }
      const names = found.described.map((one) => one.name);
      if (this.select.options.length !== names.length) {
        this.select.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
      }
      if (this.content[0].parentElement !== this.body) this.body.replaceChildren(...this.content);
      this.hints.replaceChildren(...(found.hints.length
        ? found.hints.map((hint) => make("p", { class: "hint" }, make("strong", {}, hint.name), `: ${hint.text}.`))
        : [make("p", { class: "soft" }, found.arms.length < 15 ? "Too few arms were tried to tell." : "No range looks too narrow, too wide or badly placed.")]));
      this.importance.draw(figures.importance(found));
      this.slice.draw(figures.slice(study, found, this.select.value || names[0]));
      this.together.hidden = names.length < 2; // a line joins two of them
      if (names.length > 1) this.parallel.draw(figures.parallel(study, found));
    }
  }

  // ---- forecast -------------------------------------------------------------------------------

  class ForecastView extends AskedView {
    constructor(context) {
      super(context, "forecast");
      this.title = "More budget";
      this.figure = new Figure("forecast", "Expected best value by additional budget");
      this.advice = make("p", { class: "quote" });
      this.command = make("p");
      this.assumed = make("p", { class: "soft" });
      this.content = [card("Is more budget worth it?", this.advice, this.command, this.figure.element, this.assumed)];
    }

    draw(study) {
      if (study.overview.best !== null) super.draw(study);
      else this.body.replaceChildren(card(this.title, make("p", { class: "soft" }, `There is no finite ${study.overview.metric} yet to forecast from.`)));
    }

    show(study, found) {
      if (this.content[0].parentElement !== this.body) this.body.replaceChildren(...this.content);
      const answer = found.is_worth_it ? "Yes" : found.command ? "Hardly" : "No";
      this.advice.textContent = `${answer}: ${found.advice}.`;
      this.advice.className = `quote ${found.is_worth_it ? "good" : ""}`;
      this.assumed.textContent = found.assumed;
      this.command.replaceChildren(...(found.command ? ["Extend it with ", make("code", {}, found.command)] : []));
      this.figure.draw(figures.forecast(study, found));
    }
  }

  // ---- several studies ------------------------------------------------------------------------

  class CompareView extends AskedView {
    constructor(context) {
      super(context, "/api/compare");
      this.title = "Side by side";
      this.figure = new Figure("compare", "Best so far of several studies, by part of their budgets");
      this.rows = make("div");
      this.content = [card("Side by side", this.figure.element), card("Where they stand", this.rows)];
    }

    show(_, found) {
      if (this.content[0].parentElement !== this.body) this.body.replaceChildren(...this.content);
      const drawn = figures.compare(found);
      this.figure.draw(drawn);
      this.rows.replaceChildren(table(drawn.table));
    }
  }

  return { TimelineView, WhyView, ParametersView, ForecastView, CompareView, make, table, card, Figure, settingsList, download, asCsv, OverviewView, CurvesView, configText };
})();

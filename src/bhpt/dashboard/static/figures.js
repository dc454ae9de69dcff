"use strict";
// Figures as plotly traces. Each function takes a study and returns {data, layout, table}; the
// table holds the same numbers for people who read rather than look.
bhpt.figures = (() => {
  const { number, setting, configText, duration } = bhpt.model;
  const CURVES = ["#1f77b4", "#d95f02", "#1b9e77", "#8a6fd1", "#e7298a", "#66a61e", "#17becf", "#c0392b", "#e6ab02", "#5d6dd8", "#a6761d", "#8c8c8c"];
  const LONGEST = 60; // points of a curve that is not highlighted
  const SHOWN = 6; // of the best arms that have a colour of their own
  const FANNED = 3; // of the most promising arms whose continuation is drawn unasked
  const MOST_DECADES = 12; // with a number beside each

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // plotly reads a few tags in texts: what a configuration says must not be able to draw.
  const safe = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  const base = (more) => {
    const axis = { gridcolor: css("--line"), zerolinecolor: css("--line"), linecolor: css("--line"), automargin: true };
    const layout = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: css("--ink"), family: "system-ui, sans-serif", size: 13 },
      margin: { l: 55, r: 15, t: 10, b: 45 }, hovermode: "closest", showlegend: true,
      hoverlabel: { bgcolor: css("--card"), bordercolor: css("--line"), font: { color: css("--ink") }, align: "left" },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      uirevision: "keep",
    };
    Object.entries(more).forEach(([key, value]) => {
      layout[key] = /^[xy]axis/.test(key) ? { ...axis, ...value } : value;
    });
    return layout;
  };

  const alpha = (hex, part) => {
    const full = Math.round(part * 255).toString(16).padStart(2, "0");
    return `${hex}${full}`;
  };

  const hoverText = (study, arm) => {
    const known = study.arms.get(arm);
    const lines = known ? Object.entries(known.settings).filter(([, value]) => value !== null)
      .slice(0, 12).map(([name, value]) => `${safe(name)}: ${safe(setting(value)).slice(0, 60)}`) : [];
    return [`<b>arm ${arm}</b>`, ...lines].join("<br>");
  };

  // Indices of at most `most` points, the first and the last among them.
  const thinned = (length, most) => {
    if (length <= most) return Array.from({ length }, (_, place) => place);
    return Array.from({ length: most }, (_, place) => Math.round(place * (length - 1) / (most - 1)));
  };

  // A logarithmic axis with whole numbers beside its lines: 1, 2 and 5 of each decade, 1 alone over many,
  // and not of every decade over very many, so that no number covers another.
  const logTicks = (values) => {
    const known = values.filter((value) => value > 0);
    if (!known.length) return { type: "log" };
    const first = Math.floor(Math.log10(known.reduce((a, b) => Math.min(a, b)))) - 1;
    const last = Math.ceil(Math.log10(known.reduce((a, b) => Math.max(a, b)))) + 1;
    const steps = last - first > 6 ? [1] : [1, 2, 5];
    const apart = Math.ceil((last - first) / MOST_DECADES);
    const decades = Array.from({ length: Math.floor((last - first) / apart) + 1 }, (_, place) => first + apart * place);
    const tickvals = decades.flatMap((decade) => steps.map((step) => Number(`${step}e${decade}`)));
    return { type: "log", tickmode: "array", tickvals, ticktext: tickvals.map((value) => number(value)) };
  };

  const scale = (isLog, values) => (isLog ? logTicks(values) : { type: "linear" });

  const spansDecades = (values) => {
    const known = values.filter((value) => value !== null);
    return known.length > 1 && Math.min(...known) > 0 && Math.max(...known) > 8 * Math.min(...known);
  };

  // What stands in place of a figure that has no point yet.
  const nothing = () => base({
    showlegend: false, xaxis: { visible: false }, yaxis: { visible: false },
    annotations: [{ text: "Nothing to show yet.", xref: "paper", yref: "paper", x: 0.5, y: 0.5, showarrow: false, font: { color: css("--soft") } }],
  });

  function progress(study) {
    const { overview } = study;
    const settled = study.settled;
    const kept = thinned(settled.length, 2000).map((place) => settled[place]);
    const clock = [0, ...kept.map((unit) => unit.ended)];
    const left = [overview.budget, ...kept.map((unit) => Math.max(overview.budget - unit.used, 0))];
    const data = [
      { type: "scatter", mode: "lines", name: `best ${safe(overview.metric)} so far`, x: clock, y: [null, ...kept.map((unit) => unit.best)],
        line: { shape: "hv", color: css("--good"), width: 2.5 }, hovertemplate: "after %{x:.4g} s: %{y:.5g}<extra></extra>" },
      { type: "scatter", mode: "lines", name: "left of the budget", x: clock, y: left, yaxis: "y2", fill: "tozeroy",
        fillcolor: alpha(css("--accent"), 0.18), line: { shape: "hv", color: css("--accent"), width: 2 },
        hovertemplate: "after %{x:.4g} s: %{y:.5g} left<extra></extra>" },
    ];
    const { final } = study;
    if (final && clock.length) {
      const now = clock[clock.length - 1];
      const at = overview.used > 0 ? now * overview.budget / overview.used : now;
      data.push({ type: "scatter", mode: "markers", name: "predicted at the end (90%)", x: [at], y: [final.middle],
        marker: { color: css("--fan"), size: 9, symbol: "diamond" },
        error_y: { type: "data", symmetric: false, array: [final.high - final.middle], arrayminus: [final.middle - final.low], color: css("--fan"), thickness: 2 },
        hovertemplate: `predicted: ${number(final.middle)} (${number(final.low)} to ${number(final.high)})<extra></extra>` });
    }
    return {
      data,
      layout: base({
        xaxis: { title: { text: "seconds" }, rangemode: "tozero", anchor: "y2" },
        yaxis: { title: { text: safe(overview.metric) }, domain: [0.42, 1], ...scale(spansDecades(kept.map((unit) => unit.best)), kept.map((unit) => unit.best)) },
        yaxis2: { title: { text: "budget left" }, domain: [0, 0.32], rangemode: "tozero", gridcolor: css("--line"), automargin: true },
      }),
      table: {
        caption: "Best so far and budget, by settled unit",
        columns: ["unit", "arm", "seconds", "used", `best ${overview.metric}`],
        rows: settled.map((unit) => [unit.order + 1, unit.arm, unit.ended, unit.used, unit.best]),
      },
    };
  }

  function lineOf(study, arms, most) {
    const x = [], y = [], text = [], arm = [];
    arms.forEach((one) => {
      const curve = study.curves.get(one) || [];
      const hover = hoverText(study, one);
      thinned(curve.length, most).forEach((place) => {
        x.push(place + 1); y.push(curve[place]); text.push(hover); arm.push(one);
      });
      x.push(null); y.push(null); text.push(""); arm.push(one);
    });
    return { x, y, text, customdata: arm };
  }

  const HOVER = "%{text}<br>epoch %{x}: <b>%{y:.5g}</b><extra></extra>";

  // A prediction below `floor`, which a logarithmic axis cannot show, is drawn at its lower end.
  function fanTraces(study, arm, color, floor) {
    const found = study.fan(arm);
    if (!found) return [];
    const fan = { epochs: found.epochs, quantiles: found.quantiles.map((row) => row.map((value) => Math.max(value, floor))) };
    const band = (low, high, part) => ({
      type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false, line: { width: 0 },
      x: [...fan.epochs, ...[...fan.epochs].reverse()],
      y: [...fan.quantiles.map((one) => one[low]), ...fan.quantiles.map((one) => one[high]).reverse()],
      fill: "toself", fillcolor: alpha(color, part),
    });
    const middle = {
      type: "scatter", mode: "lines", showlegend: false, x: fan.epochs, y: fan.quantiles.map((one) => one[2]),
      line: { dash: "dot", color, width: 1.5 }, text: fan.epochs.map(() => hoverText(study, arm)),
      customdata: fan.epochs.map(() => arm),
      hovertemplate: "%{text}<br>by epoch %{x}: <b>%{y:.5g}</b> predicted<extra></extra>",
    };
    return [band(0, 4, 0.12), band(1, 3, 0.16), middle];
  }

  // Arms whose continuation is drawn: the chosen one, and those that were asked for.
  function fannedArms(study, running, options) {
    const fans = study.prediction && study.prediction.fans;
    const promising = fans ? fans.arms.slice(0, FANNED) : [];
    const asked = { best: promising, running, none: [], chosen: [] }[options.fans];
    return [...new Set([...asked, ...(options.chosen === null ? [] : [options.chosen])])];
  }

  // The part of the vertical axis that holds nearly all values: curves that diverge must not hide the
  // others. A double click shows everything.
  function usefulRange(study, isLog) {
    const values = [...study.curves.values()].flat().filter((value) => value !== null && value !== undefined).sort((a, b) => a - b);
    if (values.length < 2) return undefined;
    const fans = (study.prediction && study.prediction.fans ? study.prediction.fans.quantiles.slice(0, FANNED) : []).flat(2)
      .filter((value) => value !== null && (!isLog || value > 0));
    const isMin = study.overview.mode === "min";
    const part = (at) => values[Math.round(at * (values.length - 1))];
    let low = Math.min(isMin ? values[0] : part(0.04), ...(isMin ? fans : []));
    let high = Math.max(isMin ? part(0.96) : values[values.length - 1], ...(isMin ? [] : fans));
    if (isLog) {
      low = Math.max(low, values[0] / 3); // a prediction of nearly nothing must not stretch the axis
      [low, high] = [Math.log10(low), Math.log10(high)];
    }
    const margin = 0.05 * (high - low) || 0.5;
    return [low - margin, high + margin];
  }

  // Whether a logarithmic axis suits the curves: all positive, over more than a decade.
  function suitsLog(study) {
    const ranked = study.ranked;
    const first = [...study.curves.values()].map((curve) => curve[0]).filter((value) => value !== null && value !== undefined);
    return ranked.length > 1 && ranked[0].best > 0 && Math.min(...first) > 0 && Math.max(...first) > 8 * ranked[0].best && study.overview.mode === "min";
  }

  // Learning curves: options {log (null: where it suits), fans: "best" | "running" | "chosen" | "none", chosen}.
  function curves(study, options) {
    const isLog = options.log === null ? suitsLog(study) : options.log;
    const best = study.ranked.slice(0, SHOWN).map((arm) => arm.arm);
    const running = study.running.map((unit) => unit.arm);
    const special = [...new Set([...best, ...running, ...fannedArms(study, running, options)])];
    const colors = new Map(special.map((arm, place) => [arm, CURVES[place % CURVES.length]]));
    const others = [...study.curves.keys()].filter((arm) => !colors.has(arm));
    // a line of one point is not seen: arms with a single epoch are dots, all others are one long line
    const short = others.filter((arm) => study.curves.get(arm).length < 2);
    const long = others.filter((arm) => study.curves.get(arm).length >= 2);
    const data = [
      { type: "scatter", mode: "lines", name: `${long.length} other arms`, ...lineOf(study, long, LONGEST), legendgroup: "others",
        line: { color: alpha(css("--soft"), 0.4), width: 1 }, hovertemplate: HOVER, visible: long.length ? true : "legendonly" },
      { type: "scatter", mode: "markers", name: `${short.length} with one epoch`, ...lineOf(study, short, 1), legendgroup: "others",
        marker: { size: 4, color: alpha(css("--soft"), 0.5) }, hovertemplate: HOVER, visible: short.length ? true : "legendonly" },
    ];
    const range = usefulRange(study, isLog);
    const floor = isLog && range ? 10 ** range[0] : -Infinity;
    fannedArms(study, running, options).forEach((arm) => data.push(...fanTraces(study, arm, colors.get(arm), floor)));
    special.forEach((arm) => {
      const isRunning = running.includes(arm);
      data.push({
        type: "scatter", mode: "lines+markers", name: `arm ${arm}${isRunning ? " (running)" : ""}`, ...lineOf(study, [arm], 600),
        line: { color: colors.get(arm), width: isRunning || arm === options.chosen ? 4 : 2 },
        marker: { size: isRunning ? 7 : 4, color: colors.get(arm) }, hovertemplate: HOVER,
      });
    });
    return {
      data,
      layout: base({
        xaxis: { title: { text: "epoch" }, rangemode: "tozero" },
        yaxis: { title: { text: safe(study.overview.metric) }, ...scale(isLog, range ? range.map((end) => 10 ** end) : [...study.curves.values()].flat()), range },
        uirevision: `curves ${isLog}`, showlegend: window.innerWidth > 640,
      }),
      table: {
        caption: "All arms, the best first",
        columns: ["arm", "epochs", `best ${study.overview.metric}`, "predicted end", "90% from", "to", ...study.names],
        rows: study.ranked.map((arm) => {
          const end = study.end(arm.arm) || [null, null, null];
          return [arm.arm, arm.epochs, arm.best, end[1], end[0], end[2], ...study.names.map((name) => arm.settings[name])];
        }),
      },
    };
  }

  // What a unit is to its worker and its arm: a first unit, going on, a thaw, a failure, in flight.
  const KINDS = [
    ["first", "first unit of an arm", "#4c8bf5"], ["on", "the same arm goes on", "#34a36b"],
    ["thaw", "an arm is thawed", "#e0962e"], ["failed", "failed or stopped", "#d64541"], ["open", "running", "#8e5bd0"],
  ];

  function kindsOf(study) {
    const last = new Map(); // lane -> arm that it trained last
    const seen = new Set();
    const kinds = new Map();
    [...study.units].sort((a, b) => a.started - b.started).forEach((unit) => {
      let kind = seen.has(unit.arm) ? (last.get(unit.lane) === unit.arm ? "on" : "thaw") : "first";
      if (unit.status === "failed") kind = "failed";
      if (unit.status === "open") kind = "open";
      kinds.set(unit.attempt, kind);
      last.set(unit.lane, unit.arm);
      seen.add(unit.arm);
    });
    return kinds;
  }

  // Which arm had which unit when: options {rows: "workers" | "arms", last: how many units}.
  function timeline(study, options) {
    const kinds = kindsOf(study);
    const units = study.units.slice(-options.last);
    const now = Math.max(study.overview.clock, ...study.units.slice(-50).map((unit) => unit.ended || unit.started));
    const byArm = options.rows === "arms";
    const place = new Map([...new Set(units.map((unit) => unit.arm))].map((arm, at) => [arm, at + 1]));
    const row = (unit) => (byArm ? place.get(unit.arm) : unit.lane + 1);
    const rows = byArm ? place.size : units.reduce((most, unit) => Math.max(most, unit.lane + 1), 1);
    const width = Math.max(2, Math.min(56, 300 / rows));
    const data = KINDS.map(([key, name, color]) => {
      const x = [], y = [], text = [], customdata = [];
      units.forEach((unit) => {
        if (kinds.get(unit.attempt) !== key) return;
        const end = unit.ended === null ? now : unit.ended;
        const what = `${hoverText(study, unit.arm)}<br>unit ${unit.attempt} on worker ${unit.lane + 1}: epochs ${unit.done + 1} to ${unit.done + unit.epochs}`
          + `<br>${duration(end - unit.started)}${unit.message ? `<br>${safe(unit.message).slice(0, 90)}` : ""}`;
        x.push(unit.started, end, null); y.push(row(unit), row(unit), null);
        text.push(what, what, ""); customdata.push(unit.attempt, unit.attempt, null);
      });
      return { type: "scatter", mode: "lines", name, x, y, text, customdata, line: { color, width, simplify: false },
        hovertemplate: "%{text}<extra></extra>", visible: x.length ? true : "legendonly" };
    });
    return {
      data,
      layout: base({
        xaxis: { title: { text: "seconds" } },
        yaxis: { title: { text: byArm ? "arms in order" : "worker" }, dtick: byArm ? undefined : 1, range: [0.4, rows + 0.6] },
        uirevision: `timeline ${options.rows} ${options.last}`,
      }),
      table: {
        caption: "Units, the newest first",
        columns: ["unit", "arm", "first epoch", "epochs", "worker", "started", "ended", "what", "message"],
        rows: [...study.units].reverse().map((unit) => [unit.attempt, unit.arm, unit.done + 1, unit.epochs, unit.lane + 1,
          unit.started, unit.ended, KINDS.find(([key]) => key === kinds.get(unit.attempt))[1], unit.message]),
      },
    };
  }

  // What was predicted of every arm when an attempt was decided on.
  function decision(study, found) {
    const order = found.arms.map((_, place) => place).filter((place) => found.end[place] !== null);
    const points = (places, name, color, size) => ({
      type: "scatter", mode: "markers", name, x: places.map((place) => order.indexOf(place) + 1), y: places.map((place) => found.end[place]),
      error_y: { type: "data", array: places.map((place) => found.spread[place]), color: alpha(color, 0.5), thickness: 1.5, width: 2 },
      marker: { color, size }, customdata: places.map((place) => found.arms[place]),
      text: places.map((place) => hoverText(study, found.arms[place])),
      hovertemplate: "%{text}<br>predicted end <b>%{y:.5g}</b><extra></extra>",
    });
    const chosen = order.filter((place) => found.arms[place] === found.arm);
    return {
      data: [points(order.filter((place) => found.arms[place] !== found.arm), "other arms", css("--accent"), 7),
        points(chosen, `arm ${found.arm}, chosen`, css("--bad"), 12)],
      layout: base({
        xaxis: { title: { text: "arms, the best predicted end first" } },
        yaxis: { title: { text: `predicted end (${safe(study.overview.metric)})` } }, uirevision: `why ${found.attempt}`,
      }),
      table: {
        caption: `Arms compared at step ${found.attempt}, the best predicted end first`,
        columns: ["arm", "predicted end", "± one deviation", "score (lowest is chosen)", ...study.names],
        rows: found.arms.map((arm, place) => [arm, found.end[place], found.spread[place], found.score[place],
          ...study.names.map((name) => (study.arms.get(arm) || { settings: Object.create(null) }).settings[name])]),
      },
    };
  }

  function importance(found) {
    const known = found.described.map((one, place) => [one.name, found.importance[place]]).filter(([, share]) => share !== null).reverse();
    return {
      data: [{ type: "bar", orientation: "h", y: known.map(([name]) => safe(name)), x: known.map(([, share]) => share),
        marker: { color: css("--accent") }, hovertemplate: "%{y}: %{x:.0%}<extra></extra>" }],
      layout: base({ showlegend: false, xaxis: { tickformat: ".0%", range: [0, 1], title: { text: "explained alone" } }, yaxis: { type: "category" } }),
      table: { caption: "Share of the differences between arms that each hyper-parameter explains alone",
        columns: ["hyper-parameter", "explained"], rows: [...known].reverse() },
    };
  }

  const GROUPS = ["#2c7bb6", "#71b3c9", "#b9b9b9", "#f0a86b", "#d7191c"]; // best fifth to worst
  const FIFTHS = ["best fifth of the arms", "second", "third", "fourth", "last fifth"];

  function parallel(study, found) {
    const axes = found.described.slice(0, 10);
    const count = found.arms.length;
    const isWide = window.innerWidth > 640;
    const label = (name) => safe(isWide || name.length <= 14 ? name : `${name.slice(0, 13)}…`);
    const groups = GROUPS.map(() => ({ x: [], y: [], text: [], customdata: [] }));
    found.arms.forEach((arm, place) => {
      const group = groups[Math.min(4, Math.floor(place * 5 / Math.max(count, 1)))];
      const hover = `${hoverText(study, arm)}<br>predicted end ${number(found.ends[place])}`;
      axes.forEach((_, axis) => {
        group.x.push(axis); group.y.push(found.positions[axis][place]); group.text.push(hover); group.customdata.push(arm);
      });
      group.x.push(null); group.y.push(null); group.text.push(""); group.customdata.push(null);
    });
    const ticks = axes.flatMap((one, axis) => (one.choices.length
      ? one.choices.slice(0, 12).map((choice, at) => [axis, at / Math.max(one.choices.length - 1, 1), safe(setting(choice)).slice(0, 18)])
      : [[axis, 0, number(one.low, 3)], [axis, 1, number(one.high, 3)]]));
    return {
      data: groups.map((group, place) => ({ type: "scatter", mode: "lines+markers", name: FIFTHS[place], ...group,
        line: { color: alpha(GROUPS[place], place === 0 ? 0.85 : 0.3), width: place === 0 ? 2 : 1 }, marker: { size: 3, color: GROUPS[place] },
        hovertemplate: "%{text}<extra></extra>", visible: group.x.length ? true : "legendonly",
        showlegend: isWide || place % (GROUPS.length - 1) === 0 })).reverse(), // the best and the last say what lies between
      layout: base({
        legend: { orientation: "h", y: 1.12, yanchor: "bottom", x: 0, traceorder: "reversed" },
        xaxis: { tickvals: axes.map((_, axis) => axis), ticktext: axes.map((one) => label(one.name)), tickangle: isWide ? 0 : -90, range: [-0.2, axes.length - (isWide ? 0.6 : 0.2)], zeroline: false },
        yaxis: { visible: false, range: [-0.12, 1.12] }, margin: { l: 15, r: 15, t: 10, b: isWide ? 60 : 90 },
        shapes: axes.map((_, axis) => ({ type: "line", x0: axis, x1: axis, y0: 0, y1: 1, line: { color: css("--soft"), width: 1 } })),
        annotations: ticks.map(([axis, at, text]) => ({ x: axis, y: at, text, showarrow: false, xanchor: "left", xshift: 5,
          yshift: at === 0 ? -9 : at === 1 ? 9 : 0, font: { size: 11, color: css("--soft") } })),
      }),
      table: { caption: "Arms, the best predicted end first", columns: ["arm", "predicted end", ...study.names],
        rows: found.arms.map((arm, place) => [arm, found.ends[place], ...study.names.map((name) => study.arms.get(arm).settings[name])]) },
    };
  }

  function slice(study, found, name) {
    const one = found.described.find((described) => described.name === name);
    const rows = found.arms.map((arm, place) => [study.arms.get(arm).settings[name], found.ends[place], arm])
      .filter(([value]) => value !== null && value !== undefined);
    return {
      data: [{ type: "scatter", mode: "markers", x: rows.map(([value]) => (one.choices.length ? safe(setting(value)).slice(0, 30) : value)),
        y: rows.map(([, end]) => end), marker: { color: css("--accent"), opacity: 0.7, size: 8 }, text: rows.map(([, , arm]) => hoverText(study, arm)),
        hovertemplate: "%{text}<br>predicted end <b>%{y:.5g}</b><extra></extra>" }],
      layout: base({ showlegend: false, xaxis: { title: { text: safe(name) }, ...(one.choices.length ? { type: "category" } : scale(one.log, rows.map(([value]) => value))) },
        yaxis: { title: { text: `predicted end (${safe(study.overview.metric)})` } }, uirevision: name }),
      table: { caption: `Predicted end by ${name}`, columns: ["arm", name, "predicted end"], rows: rows.map(([value, end, arm]) => [arm, value, end]) },
    };
  }

  // A range round values that are all the same, which plotly would draw between one less and one more.
  function flat(values) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return low === high && low !== 0 ? { range: [low - 0.2 * Math.abs(low), low + 0.2 * Math.abs(low)] } : {};
  }

  function forecast(study, found) {
    const ends = found.purchases.flatMap((one) => [one.low, one.high]);
    const names = found.purchases.map((one) => (one.more ? `+ ${one.text}` : `the ${found.left_text} left`));
    return {
      data: [
        { type: "scatter", mode: "lines+markers", name: "expected (90% interval)", x: ["now", ...names], y: [found.best, ...found.purchases.map((one) => one.expected)],
          error_y: { type: "data", symmetric: false, array: [0, ...found.purchases.map((one) => one.high - one.expected)],
            arrayminus: [0, ...found.purchases.map((one) => one.expected - one.low)], color: css("--fan") },
          line: { color: css("--fan"), width: 2 }, marker: { size: 9 }, hovertemplate: "%{x}: %{y:.5g}<extra></extra>" },
      ],
      layout: base({ xaxis: { type: "category", tickangle: window.innerWidth > 640 ? 0 : -45 },
        yaxis: { title: { text: `best ${safe(study.overview.metric)}` }, ...flat([found.best, ...ends]) } }),
      table: { caption: "What more budget is expected to buy", columns: ["budget", "expected", "90% from", "to", "better by"],
        rows: found.purchases.map((one, place) => [names[place], one.expected, one.low, one.high, one.gain_text]) },
    };
  }

  // Several studies side by side: how the best of each came with its budget.
  function compare(found) {
    const values = found.flatMap((one) => one.best);
    return {
      data: found.map((one, place) => ({ type: "scatter", mode: "lines", name: safe(one.name), x: one.used.map((used) => used / one.overview.budget), y: one.best,
        line: { shape: "hv", width: 2.5, color: CURVES[place % CURVES.length] }, hovertemplate: `${safe(one.name)}<br>%{x:.0%}: %{y:.5g}<extra></extra>` })),
      layout: base({ xaxis: { title: { text: "part of its budget" }, tickformat: ".0%", rangemode: "tozero" },
        yaxis: { title: { text: "best so far" }, ...scale(spansDecades(values), values) } }),
      table: { caption: "Studies side by side", columns: ["study", "metric", "best", "arm", "used", "tried", "units", "state"],
        rows: found.map((one) => [one.name, `${one.overview.metric} (${one.overview.mode})`, one.overview.best, one.overview.best_arm, one.overview.used_text,
          one.overview.tried, one.overview.units, one.phase_text]) },
    };
  }

  return { nothing, suitsLog, progress, curves, timeline, decision, importance, parallel, slice, forecast, compare, base, css, safe, alpha, hoverText, lineOf, thinned, CURVES, configText, duration };
})();

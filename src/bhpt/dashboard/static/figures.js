"use strict";
// Figures as plotly traces. Each function takes a study and returns {data, layout, table}; the
// table holds the same numbers for people who read rather than look.
bhpt.figures = (() => {
  const { number, setting, configText, duration } = bhpt.model;
  const CURVES = ["#1f77b4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d", "#e6ab02"];
  const LONGEST = 60; // points of a curve that is not highlighted
  const SHOWN = 8; // arms with a colour of their own

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
    const final = study.prediction && study.prediction.final;
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
        yaxis: { title: { text: safe(overview.metric) }, domain: [0.42, 1] },
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

  function fanTraces(study, arm, color) {
    const fan = study.fan(arm);
    if (!fan) return [];
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

  // Learning curves: options {log, fans: "best" | "running" | "chosen" | "none", chosen}.
  function curves(study, options) {
    const best = study.ranked.slice(0, SHOWN).map((arm) => arm.arm);
    const running = study.running.map((unit) => unit.arm);
    const special = [...new Set([...best, ...running, ...(options.chosen === null ? [] : [options.chosen])])];
    const colors = new Map(special.map((arm, place) => [arm, CURVES[place % CURVES.length]]));
    const others = [...study.curves.keys()].filter((arm) => !colors.has(arm));
    const data = [{
      type: "scatter", mode: "lines+markers", name: `${others.length} other arms`, ...lineOf(study, others, LONGEST),
      line: { color: alpha(css("--soft"), 0.35), width: 1 }, marker: { size: 3, color: alpha(css("--soft"), 0.5) },
      hovertemplate: HOVER, visible: others.length ? true : "legendonly",
    }];
    const fanned = { best: best.slice(0, 5), running, none: [], chosen: options.chosen === null ? [] : [options.chosen] }[options.fans];
    [...new Set([...fanned, ...(options.chosen === null || options.fans === "none" ? [] : [options.chosen])])]
      .forEach((arm) => data.push(...fanTraces(study, arm, colors.get(arm))));
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
        yaxis: { title: { text: safe(study.overview.metric) }, type: options.log ? "log" : "linear" },
        uirevision: `curves ${options.log}`,
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

  return { progress, curves, base, css, safe, alpha, hoverText, lineOf, thinned, CURVES, configText, duration };
})();

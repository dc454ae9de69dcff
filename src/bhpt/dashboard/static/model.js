"use strict";
// A study as this page knows it: everything once, then what changed. No drawing here.
var bhpt = window.bhpt || {};
window.bhpt = bhpt;

bhpt.model = (() => {
  const STATUSES = ["open", "observed", "failed"];

  class Study {
    constructor(whole) {
      this.name = whole.name;
      this.address = whole.address;
      this.units = []; // by attempt: {attempt, arm, done, epochs, status, lane, started, ended, used, best, order, values, message}
      this.curves = new Map(); // arm -> values by epoch, from epoch 1
      this.arms = new Map(); // arm -> {arm, epochs, best, closed, settings}
      this.names = []; // of hyper-parameters
      this.prediction = whole.prediction || null;
      this.change(whole);
    }

    // Take in what changed: rows replace those with the same number.
    change(message) {
      this.position = message.position;
      this.phase = message.phase;
      this.phaseText = message.phase_text;
      this.over = message.over; // why it is done; empty if it is not
      this.overview = message.overview;
      this.takeUnits(message.units);
      this.takeArms(message.arms);
    }

    takeUnits(columns) {
      let next = 0;
      columns.attempt.forEach((attempt, place) => {
        const status = STATUSES[columns.status[place]];
        const count = status === "observed" ? columns.epochs[place] : 0;
        const unit = {
          attempt, status,
          arm: columns.arm[place], done: columns.done[place], epochs: columns.epochs[place],
          lane: columns.lane[place], started: columns.started[place], ended: columns.ended[place],
          used: columns.used[place], best: columns.best[place], order: columns.order[place],
          values: columns.values.slice(next, next + count),
          message: columns.message[attempt] || "",
        };
        next += count;
        this.units[attempt] = unit;
        this.extend(unit);
      });
    }

    extend(unit) {
      if (!unit.values.length) return;
      if (!this.curves.has(unit.arm)) this.curves.set(unit.arm, []);
      const curve = this.curves.get(unit.arm);
      unit.values.forEach((value, place) => { curve[unit.done + place] = value; });
    }

    takeArms(columns) {
      const names = Object.keys(columns.settings);
      names.forEach((name) => { if (!this.names.includes(name)) this.names.push(name); });
      columns.arm.forEach((arm, place) => {
        const settings = Object.create(null); // a hyper-parameter may be called __proto__
        names.forEach((name) => { settings[name] = columns.settings[name][place]; });
        this.arms.set(arm, {
          arm, settings, epochs: columns.epochs[place], best: columns.best[place],
          closed: columns.closed[arm] || "",
        });
      });
    }

    // Settled units in the order in which they were settled.
    get settled() {
      return this.units.filter((unit) => unit.order >= 0).sort((a, b) => a.order - b.order);
    }

    get running() {
      return this.units.filter((unit) => unit.status === "open");
    }

    // Arms with a finite value, the best first.
    get ranked() {
      const sign = this.overview.mode === "max" ? -1 : 1;
      return [...this.arms.values()].filter((arm) => arm.best !== null)
        .sort((a, b) => sign * (a.best - b.best));
    }

    // What is predicted for the end of the budget; null if nothing is. A prediction may be older than the
    // best so far, and the end is never worse than that; one that the best has overtaken no longer holds.
    get final() {
      const found = this.prediction && this.prediction.final;
      const { best, mode } = this.overview;
      if (!found || best === null) return found;
      if (mode === "max" ? best > found.middle : best < found.middle) return null;
      const bound = (value) => (mode === "max" ? Math.max(value, best) : Math.min(value, best));
      return { low: bound(found.low), middle: bound(found.middle), high: bound(found.high) };
    }

    // Predicted end of an arm as [low, middle, high]; null if there is none.
    end(arm) {
      const ends = this.prediction && this.prediction.ends;
      const place = ends && ends.arm ? ends.arm.indexOf(arm) : -1;
      return place < 0 ? null : [ends.low[place], ends.middle[place], ends.high[place]];
    }

    // The fan of an arm as {epochs, quantiles}; null if there is none.
    fan(arm) {
      const fans = this.prediction && this.prediction.fans;
      const place = fans ? fans.arms.indexOf(arm) : -1;
      return place < 0 ? null : { epochs: fans.epochs[place], quantiles: fans.quantiles[place] };
    }
  }

  const number = (value, digits = 4) => {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(digits - 1).replace(/\.?0*e/, "e");
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(digits)));
  };

  const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

  // A setting as text: numbers short, everything else as it is stored.
  const setting = (value) => {
    if (typeof value === "number") return number(value);
    return typeof value === "string" ? value : JSON.stringify(value);
  };

  const configText = (settings) => Object.entries(settings)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${setting(value)}`).join("  ");

  const duration = (seconds) => {
    if (seconds === null || seconds === undefined) return "–";
    if (seconds < 90) return `${number(seconds, 3)} s`;
    if (seconds < 5400) return `${number(seconds / 60, 3)} min`;
    return `${number(seconds / 3600, 3)} h`;
  };

  return { Study, number, counted, setting, configText, duration };
})();

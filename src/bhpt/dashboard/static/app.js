"use strict";
// Starts the page: which study and view are shown, the theme, and live updates.
(() => {
  const { make } = bhpt.views;
  const VIEWS = [
    ["overview", "Overview", bhpt.views.OverviewView],
    ["curves", "Curves", bhpt.views.CurvesView],
    ["timeline", "Timeline", bhpt.views.TimelineView],
    ["why", "Why", bhpt.views.WhyView],
    ["parameters", "Hyper-parameters", bhpt.views.ParametersView],
    ["forecast", "More budget", bhpt.views.ForecastView],
    ["compare", "Side by side", bhpt.views.CompareView],
  ];
  const byId = (id) => document.getElementById(id);
  const state = { study: null, view: null, viewName: "", number: null, studies: [], source: null, isDue: false, isLoading: false, best: undefined };

  // ---- theme ----------------------------------------------------------------------------------

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const kept = { // storage may be forbidden: then the choice lasts as long as the page
    get() { try { return localStorage.getItem("bhpt-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("bhpt-theme", value); } catch { /* as above */ } },
  };

  function showTheme() {
    const button = byId("theme");
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to the ${isDark() ? "light" : "dark"} theme`);
    redraw();
  }

  function startTheme() {
    const chosen = kept.get();
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
    byId("theme").addEventListener("click", () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      kept.set(document.documentElement.dataset.theme);
      showTheme();
    });
    dark.addEventListener("change", showTheme);
    showTheme();
  }

  // ---- views ----------------------------------------------------------------------------------

  function route() {
    const [name, ...rest] = location.hash.slice(1).split("/");
    const found = VIEWS.find(([key]) => key === name) || VIEWS[0];
    if (state.viewName !== found[0]) {
      state.viewName = found[0];
      state.view = new found[2](context);
      if (state.study) byId("main").replaceChildren(state.view.element);
    }
    if (state.view.open) state.view.open(rest);
    byId("tabs").querySelectorAll("a").forEach((link) => {
      if (link.hash === `#${found[0]}`) {
        link.setAttribute("aria-current", "page");
        byId("tabs").scrollLeft = link.offsetLeft - byId("tabs").clientWidth / 2;
      } else link.removeAttribute("aria-current");
    });
    redraw();
  }

  // Draws at most once a frame, however many messages come in.
  function redraw() {
    if (state.isDue || !state.study) return;
    state.isDue = true;
    requestAnimationFrame(() => {
      state.isDue = false;
      const { study } = state;
      const main = byId("main");
      if (state.view.element.parentElement !== main) main.replaceChildren(state.view.element);
      byId("name").textContent = study.name;
      byId("phase").textContent = study.phaseText;
      byId("phase").dataset.phase = study.phase;
      byId("address").textContent = study.address;
      document.title = `${bhpt.model.number(study.overview.best)} · ${study.name} · bhpt`;
      state.view.draw(study);
      announce(study.overview);
      if (window.Plotly) document.documentElement.dataset.drawn = String(study.position);
      else if (!content) setTimeout(loadPlotly, 50); // once this is on the screen: numbers are read while it comes
    });
  }

  // plotly is large: the page shows everything but its figures before that is read.
  function loadPlotly() {
    if (state.isLoading) return;
    state.isLoading = true;
    document.head.append(make("script", { src: document.querySelector("link[rel=preload]").href, on: { load: redraw } }));
  }

  function announce(overview) {
    if (state.best !== undefined && overview.best !== state.best) {
      byId("live").textContent = `Best ${overview.metric} is now ${bhpt.model.number(overview.best)}, ${overview.used_text}`;
    }
    state.best = overview.best;
  }

  // ---- data -----------------------------------------------------------------------------------

  // A report holds everything that a dashboard would ask its server for.
  const content = byId("content") ? JSON.parse(byId("content").textContent) : null;

  const context = {
    get study() { return state.study; },
    async ask(path) {
      if (content) return held(path);
      const asked = state.number;
      const answer = await fetch(path.startsWith("/") ? path : `/api/studies/${asked}/${path}`);
      const found = await answer.json();
      if (asked !== state.number) return new Promise(() => {}); // the view that asked is gone: nobody waits for this
      if (!answer.ok) throw new Error(found.error || answer.statusText);
      return found;
    },
  };

  function held(path) {
    const found = content.answers[path];
    if (!found) throw new Error("The report does not hold this: only the newest decisions are in it.");
    if (found.error) throw new Error(found.error);
    return found;
  }

  function trouble(text) {
    byId("trouble").textContent = text;
    byId("trouble").hidden = !text;
  }

  function follow(number) {
    if (state.source) state.source.close();
    const source = new EventSource(`/api/studies/${number}/stream`);
    const on = (name, act) => source.addEventListener(name, (event) => { act(JSON.parse(event.data)); redraw(); });
    on("whole", (message) => {
      state.study = new bhpt.model.Study(message);
      trouble("");
      if (state.number !== number) showOther(number);
    });
    on("change", (message) => state.study.change(message));
    on("prediction", (message) => { state.study.prediction = message; });
    on("trouble", (message) => trouble(message.text));
    source.addEventListener("error", () => trouble("The connection is lost: is `bhpt dashboard` still running? Trying again …"));
    source.addEventListener("open", () => trouble(""));
    state.source = source;
  }

  // Another study is shown from here on: its view is made anew, so that nothing in it is of the one before.
  function showOther(number) {
    state.number = number;
    state.best = undefined;
    state.viewName = "";
    showDownloads();
    route();
  }

  const DOWNLOADS = [["epochs.csv", "epochs (CSV)"], ["arms.csv", "arms (CSV)"], ["attempts.csv", "units (CSV)"], ["study.json", "everything (JSON)"]];

  function showDownloads() {
    byId("downloads").replaceChildren("Download: ", ...DOWNLOADS.map(([file, text]) => make("a", { href: `/api/studies/${state.number}/${file}`, download: file }, text)));
  }

  function showReport() {
    state.study = new bhpt.model.Study(content.study);
    const name = content.study.name.replace(/[^A-Za-z0-9_.-]/g, "_");
    byId("downloads").replaceChildren(`Report of ${content.made}. `, make("button", { type: "button",
      on: { click: () => bhpt.views.download(`${name}.json`, "application/json", byId("content").textContent) } }, "everything (JSON)"));
    redraw();
  }

  async function start() {
    state.studies = content ? [{ id: 0, name: content.study.name }] : await (await fetch("/api/studies")).json();
    const shown = VIEWS.filter(([key]) => key !== "compare" || state.studies.length > 1);
    byId("tabs").append(...shown.map(([key, text]) => make("li", {}, make("a", { href: `#${key}` }, text))));
    window.addEventListener("hashchange", route);
    window.addEventListener("load", redraw); // in a report plotly is the last script: figures are drawn once it is here
    route();
    startTheme();
    if (content) {
      showReport();
      return;
    }
    const select = byId("studies");
    select.append(...state.studies.map((study) => make("option", { value: study.id }, study.name)));
    byId("chooser").hidden = state.studies.length < 2;
    select.addEventListener("change", () => follow(Number(select.value)));
    follow(0);
  }

  start().catch((error) => trouble(`The page could not start: ${error.message}`));
})();

// The interactive figure of the front page: a log whose averages mislead, and the bounds that the same log gives.
//
// `population` is the infinite log of a doctor who sees what the log does not record. `bounds` has the formulas of
// meanbounds.logs.bounds for OptimalExpert and ErringExpert, for rewards that are 0 or 1 and a log without end. A test
// moves the sliders in a browser and compares every number with what the library says of the same world.
(function () {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  const ROW = 58; // pixels from one arm to the next
  const SLACK = 4096 * Number.EPSILON; // how far a number may be off by rounding: support/rounding.py

  const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
  const largest = (numbers) => numbers.reduce((best, one, k) => (one > numbers[best] ? k : best), 0);
  const percent = (share) => `${Math.round(100 * share)}%`;
  const listed = (names) =>
    names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;

  /** What an infinite log holds, and the truth: severity lowers the means of all arms, and the doctor sees it. */
  function population(world, age, strength, errs) {
    const { means, probabilities } = world.contexts[age];
    const arms = world.arms.map((_, k) => k);
    const cells = means.map((row, u) => row.map((mean) => mean - strength * world.drop[u]));
    const played = cells.map((row) => {
      const best = largest(row);
      return arms.map((k) => (k === best ? 1 - errs : errs / (arms.length - 1))); // a wrong choice is any of the others
    });
    const over = (value) => arms.map((k) => sum(probabilities.map((chance, u) => chance * value(u, k))));
    const share = over((u, k) => played[u][k]);
    const part = over((u, k) => played[u][k] * cells[u][k]);
    const sorted = cells.map((row) => [...row].sort((a, b) => b - a));
    return {
      share,
      part,
      naive: part.map((own, k) => own / share[k]),
      truth: over((u, k) => cells[u][k]),
      gapLow: Math.min(...sorted.map((row) => row[0] - row[1])),
      gapHigh: Math.max(...sorted.map((row) => row[0] - row[row.length - 1])),
    };
  }

  /** Bounds on each arm's mean, or the arm at which the log contradicts what is assumed. */
  function bounds({ share, part }, { errors, gapLow, gapHigh }) {
    const mean = sum(part);
    const gain = part.map((own, k) => Math.max(own - gapHigh * share[k], 0));
    let lower = part.map((own, k) => own + sum(gain) - gain[k]);
    let upper = part.map((own, k) => {
      const others = 1 - share[k];
      const anyone = own + others;
      const lowest = mean - gapLow * others + errors * (1 + gapLow); // errors where others were played without success
      const highest = own + others - gapLow * others + errors * gapLow; // where even these would have recovered
      return Math.min(anyone, lowest, highest);
    });
    const refuted = part.findIndex((own, k) => gapLow > 0 && own - gapLow * share[k] + gapLow * errors < -SLACK);
    const crossed = upper.findIndex(
      (most, k) => most < -SLACK || lower[k] > 1 + SLACK || lower[k] > most + SLACK,
    );
    if (refuted >= 0 || crossed >= 0) return { refused: refuted >= 0 ? refuted : crossed };
    upper = upper.map((most) => Math.min(Math.max(most, 0), 1));
    lower = lower.map((least, k) => Math.min(Math.max(least, 0), upper[k]));
    const best = Math.max(...lower);
    const open = upper.map((most, k) => most > best || lower[k] === best);
    return { lower, upper, open };
  }

  /** What is seen now, in a sentence. */
  function sentence(arms, seen, found, assumed, errs) {
    const first = largest(seen.naive);
    const best = largest(seen.truth);
    const start =
      first === best
        ? `The log\u2019s averages and the truth both put ${arms[best]} first`
        : `The log\u2019s averages put ${arms[first]} first, but in truth ${arms[best]} is best`;
    if (found.refused !== undefined)
      return `${start}; the log itself contradicts what you assume (see ${arms[found.refused]}), so assume less.`;
    const inside = (k, mean) => mean >= found.lower[k] - SLACK && mean <= found.upper[k] + SLACK;
    const missed = arms.filter((_, k) => !inside(k, seen.truth[k]));
    if (missed.length) {
      const reasons = [];
      if (errs > assumed.errors + SLACK)
        reasons.push(`the doctor errs in ${percent(errs)} of cases, not in at most ${percent(assumed.errors)}`);
      if (assumed.gapLow > seen.gapLow + SLACK)
        reasons.push(`the second best is only ${seen.gapLow.toFixed(2)} behind in some cases`);
      if (assumed.gapHigh < seen.gapHigh - SLACK)
        reasons.push(`the worst is ${seen.gapHigh.toFixed(2)} behind in some cases`);
      const why = `because you assume too much: ${reasons.join(", and ")}`;
      return `${start}; the bounds miss the truth for ${listed(missed)}, ${why}.`;
    }
    const out = arms.filter((_, k) => !found.open[k]);
    if (out.length) return `${start}; the bounds, made from the same log, rule out ${listed(out)}.`;
    const high = arms.filter((_, k) => seen.naive[k] > found.upper[k] + SLACK);
    const yet = high.length ? `, yet say that the average of ${listed(high)} is too high` : "";
    return `${start}; the bounds leave all ${arms.length} open${yet}.`;
  }

  const set = (element, attributes) =>
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  const made = (parent, name, attributes, text) => {
    const one = document.createElementNS(SVG, name);
    set(one, attributes);
    if (text !== undefined) one.textContent = text;
    return parent.appendChild(one);
  };
  const at = (value) => `${100 * value}%`;

  /** The picture; places are in percent, so that it fits any width while its letters keep their size. */
  function draw(place, arms, seen, found) {
    const height = ROW * arms.length + 24;
    const label = "The averages, bounds and true means of each arm; the table below has the numbers";
    const svg = document.createElementNS(SVG, "svg");
    set(svg, { role: "img", "aria-label": label, width: "100%", height });
    [0, 0.25, 0.5, 0.75, 1].forEach((mark) => {
      made(svg, "line", { class: "mb-grid", x1: at(mark), x2: at(mark), y1: 0, y2: height - 20 });
      made(svg, "text", { class: "mb-tick", x: at(mark), y: height - 4 }, String(mark));
    });
    arms.forEach((arm, k) => {
      const middle = ROW * k + 38;
      const row = made(svg, "g", { class: `mb-arm mb-k${k % 8}` });
      made(row, "line", { class: "mb-track", x1: "0%", x2: "100%", y1: middle, y2: middle });
      const bounded = found.refused === undefined;
      const out = bounded && !found.open[k];
      made(row, "text", { class: "mb-name", x: "0%", y: middle - 17 }, arm + (out ? " \u2013 ruled out" : ""));
      if (bounded) {
        const width = at(Math.max(found.upper[k] - found.lower[k], 0.002));
        const look = out ? "mb-bar mb-out" : "mb-bar";
        made(row, "rect", { class: look, x: at(found.lower[k]), width, y: middle - 9, height: 18, rx: 4 });
      }
      const average = made(row, "svg", { x: at(seen.naive[k]), y: middle, overflow: "visible" });
      made(average, "path", { class: "mb-naive", d: "M0 -7 L7 0 L0 7 L-7 0 Z" });
      made(row, "circle", { class: "mb-truth", cx: at(seen.truth[k]), cy: middle, r: 5 });
    });
    place.replaceChildren(svg);
  }

  /** The numbers; each cell carries them in full. */
  function list(body, arms, seen, found) {
    const cell = (row, shown, values) => {
      const one = row.appendChild(document.createElement("td"));
      one.textContent = shown;
      Object.assign(one.dataset, values);
    };
    const rows = arms.map((arm, k) => {
      const row = document.createElement("tr");
      row.dataset.arm = arm;
      const head = row.appendChild(document.createElement("th"));
      head.scope = "row";
      head.textContent = arm;
      const naive = seen.naive[k];
      cell(row, naive.toFixed(3), { naive });
      if (found.refused === undefined) {
        const [lower, upper, open] = [found.lower[k], found.upper[k], found.open[k]];
        cell(row, `${lower.toFixed(3)} to ${upper.toFixed(3)}`, { lower, upper, open });
      } else cell(row, "none", {});
      cell(row, seen.truth[k].toFixed(3), { truth: seen.truth[k] });
      return row;
    });
    body.replaceChildren(...rows);
  }

  function start(figure, number) {
    const find = (selector) => figure.querySelector(selector);
    const world = JSON.parse(find(".mb-world").textContent);
    const input = (name) => find(`input[name="${name}"]`);
    const value = (name) => Number(input(name).value);
    const said = { strength: (x) => x.toFixed(2), gap_low: (x) => x.toFixed(2), gap_high: (x) => x.toFixed(2) };

    Object.keys(world.contexts).forEach((age, place, ages) => {
      const label = find(".mb-ages").appendChild(document.createElement("label"));
      const radio = label.appendChild(document.createElement("input"));
      Object.assign(radio, { type: "radio", name: `mb-age-${number}`, value: age, checked: place === ages.length - 1 });
      label.append(age);
    });

    function show() {
      const age = find(".mb-ages input:checked").value;
      const errs = value("errs");
      const seen = population(world, age, value("strength"), errs);
      if (input("follow").checked) {
        input("errors").value = errs;
        input("gap_low").value = seen.gapLow;
        input("gap_high").value = seen.gapHigh;
      }
      const assumed = { errors: value("errors"), gapLow: value("gap_low"), gapHigh: value("gap_high") };
      const found = bounds(seen, assumed);
      figure.querySelectorAll(".mb-slider").forEach((slider) => {
        const range = slider.querySelector("input");
        const text = (said[range.name] || ((x) => `${percent(x)} of cases`))(Number(range.value));
        slider.querySelector(".mb-value").textContent = text;
        range.setAttribute("aria-valuetext", text);
      });
      find(".mb-sentence").textContent = sentence(world.arms, seen, found, assumed, errs);
      draw(find(".mb-chart"), world.arms, seen, found);
      list(find(".mb-numbers tbody"), world.arms, seen, found);
      const gaps = `gap_low=${assumed.gapLow}, gap_high=${assumed.gapHigh}`;
      const expert = assumed.errors > 0 ? `ErringExpert(${assumed.errors}, ${gaps})` : `OptimalExpert(${gaps})`;
      find(".mb-call code").textContent = `mb.logs.bounds(counts, mb.logs.${expert}, infinite=True)`;
    }

    figure.addEventListener("input", (event) => {
      const name = event.target.name;
      if (["errors", "gap_low", "gap_high"].includes(name)) input("follow").checked = false;
      if (name === "gap_low" && value("gap_low") > value("gap_high")) input("gap_high").value = value("gap_low");
      if (name === "gap_high" && value("gap_high") < value("gap_low")) input("gap_low").value = value("gap_high");
      show();
    });
    show();
  }

  const begin = () => document.querySelectorAll(".mb-figure").forEach(start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();

(() => {
  "use strict";
  const root = document.documentElement.dataset.root;
  const MOST = 12; // hits that are shown

  // ------------------------------------------------------------------------------------------------------------ search
  const place = document.querySelector(".search");
  const input = document.createElement("input");
  const hits = document.createElement("ul");
  Object.assign(input, { type: "search", placeholder: "Search", autocomplete: "off" });
  input.setAttribute("aria-label", "Search nodes, metrics and published systems");
  hits.hidden = true;
  hits.setAttribute("aria-label", "What was found");
  place.append(input, hits);

  let asked = false;
  function load() { // a script, since a page from the disk may fetch nothing
    if (asked) return;
    asked = true;
    const script = document.createElement("script");
    script.src = root + "search.js";
    script.addEventListener("load", search);
    document.head.append(script);
  }

  function search() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits.replaceChildren();
    hits.hidden = words.length === 0 || !window.shakedownSearch;
    if (hits.hidden) return;
    const found = window.shakedownSearch.filter(([title]) => words.every((word) => title.toLowerCase().includes(word)));
    found.sort((a, b) => starts(b[0], words[0]) - starts(a[0], words[0]));
    for (const [title, kind, path] of found.slice(0, MOST)) {
      const item = document.createElement("li"), link = document.createElement("a");
      const name = document.createElement("span"), small = document.createElement("small");
      link.href = root + path;
      name.textContent = title;
      small.textContent = kind;
      link.append(name, small);
      item.append(link);
      hits.append(item);
    }
    if (found.length === 0 || found.length > MOST) {
      const item = document.createElement("li");
      item.className = "none";
      item.textContent = found.length === 0 ? "Nothing is called that." : `and ${found.length - MOST} more`;
      hits.append(item);
    }
  }

  const starts = (title, word) => Number(title.toLowerCase().startsWith(word));
  input.addEventListener("focus", load);
  input.addEventListener("input", () => { load(); search(); });
  place.addEventListener("keydown", (event) => {
    const links = [...hits.querySelectorAll("a")], at = links.indexOf(document.activeElement);
    if (event.key === "Escape") { input.value = ""; search(); input.focus(); }
    if (event.key === "Enter" && document.activeElement === input && links.length) links[0].click();
    if (event.key === "ArrowDown" && links.length) { event.preventDefault(); links[Math.min(at + 1, links.length - 1)].focus(); }
    if (event.key === "ArrowUp" && at >= 0) { event.preventDefault(); (at === 0 ? input : links[at - 1]).focus(); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/input|textarea/i.test(document.activeElement.tagName)) { event.preventDefault(); input.focus(); }
  });
  document.addEventListener("click", (event) => { if (!place.contains(event.target)) hits.hidden = true; });

  // ------------------------------------------------------------------------------------------------------------ tables
  const compare = new Intl.Collator("en", { numeric: true });
  const value = (row, at) => row.cells[at].dataset.key === undefined ? null : Number(row.cells[at].dataset.key);

  function sort(table, at, down) {
    const body = table.tBodies[0], rows = [...body.rows];
    const empty = (row) => row.cells[at].dataset.key === undefined && row.cells[at].textContent === "";
    rows.sort((a, b) => {
      if (empty(a) !== empty(b)) return empty(a) ? 1 : -1; // what is not known stays below
      const x = value(a, at), y = value(b, at);
      const order = x !== null && y !== null ? x - y : compare.compare(a.cells[at].textContent, b.cells[at].textContent);
      return down ? -order : order;
    });
    body.append(...rows);
  }

  for (const table of document.querySelectorAll("table.sorts")) {
    for (const head of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(table, head.cellIndex, down);
      });
    }
  }

  for (const table of document.querySelectorAll("table[data-filter]")) {
    const box = table.parentNode.previousElementSibling, field = document.createElement("input");
    Object.assign(field, { type: "search", placeholder: "Filter rows" });
    field.setAttribute("aria-label", `Filter the rows of ${table.caption.textContent}`);
    box.append(field);
    field.addEventListener("input", () => {
      const word = field.value.toLowerCase();
      for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(word);
    });
  }

  function reveal() { // the row that the address names may be folded
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = row?.closest("details");
    if (fold && !fold.open) { fold.open = true; row.scrollIntoView({ block: "center" }); }
  }
  window.addEventListener("hashchange", reveal);
  reveal();
})();

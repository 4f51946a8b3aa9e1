(() => {
  "use strict";
  const tip = document.getElementById("tip");
  const NEAR = 20; // pixels from the pointer to a mark

  function nearest(drawing, event) {
    const x = event.clientX, y = event.clientY;
    if (drawing.classList.contains("matrix")) return event.target.closest(".role-mark [aria-label]"); // cells have no gaps
    let best = null, least = NEAR;
    for (const mark of drawing.querySelectorAll(".role-mark [aria-label]")) {
      const box = mark.getBoundingClientRect();
      const away = Math.hypot(Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
      const size = Math.min(box.width * box.height, 4e3) / 4e4; // of marks that overlap, the smaller
      if (away + size < least) { least = away + size; best = mark; }
    }
    return best;
  }

  function show(event) {
    const mark = nearest(event.currentTarget, event);
    tip.hidden = mark === null;
    if (mark === null) return;
    tip.textContent = mark.getAttribute("aria-label");
    const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18 + tip.offsetHeight < window.innerHeight;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 12) + "px";
  }

  for (const drawing of document.querySelectorAll(".drawing")) {
    drawing.addEventListener("pointermove", show);
    drawing.addEventListener("pointerdown", show);
    drawing.addEventListener("pointerleave", () => { tip.hidden = true; });
  }

  function unfold() { // the section that the address names, where it is folded
    const part = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.querySelector(":scope > details");
    if (part) part.open = true;
  }
  window.addEventListener("hashchange", unfold);
  unfold();

  function choose(figure) {
    const keys = [...figure.querySelectorAll("[data-colour]")];
    const chosen = keys.filter((key) => key.getAttribute("aria-pressed") === "true").map((key) => key.dataset.colour);
    for (const key of keys) {
      const colour = key.dataset.colour;
      const weight = chosen.length === 0 || chosen.includes(colour) ? "" : "0.1";
      for (const mark of figure.querySelectorAll(`.role-mark [fill="${colour}"], .role-mark [stroke="${colour}"]`)) {
        mark.style.opacity = weight;
      }
    }
  }

  for (const key of document.querySelectorAll(".legend [data-colour]")) {
    key.setAttribute("role", "button");
    key.setAttribute("aria-pressed", "false");
    key.tabIndex = 0;
    const toggle = () => {
      key.setAttribute("aria-pressed", String(key.getAttribute("aria-pressed") !== "true"));
      choose(key.closest("figure"));
    };
    key.addEventListener("click", toggle);
    key.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(); }
    });
  }
})();

"use strict";
// Asks for the status below the page's own address, and writes what has changed. Texts stay texts.
(() => {
  const at = (id) => document.getElementById(id);
  const page = at("payment");
  const pay = at("pay");
  const number = (name) => Number(page.dataset[name]);
  const soon = number("pollMs");
  let pause = soon;
  let timer = 0;
  let leaving = 0;
  let asking = false;
  let over = page.dataset.over === "true";
  let last = "";

  // What has not changed is left alone: a screen reader would say it again.
  const write = (id, text) => {
    const place = at(id);
    if (place && place.textContent !== text) place.textContent = text;
  };

  const lead = (address) => {
    const url = new URL(address);
    if (leaving || !["http:", "https:"].includes(url.protocol)) return;
    const seconds = number("leadS");
    at("onward").href = url.href;
    write("host", url.host);
    write("leaving", `You are taken to ${url.host} in ${seconds} seconds.`);
    at("stay").hidden = false;
    at("leave").hidden = false;
    // In the place of this page: the way back does not lead here again.
    leaving = setTimeout(() => location.replace(url.href), seconds * 1000);
  };

  at("stay").addEventListener("click", () => {
    clearTimeout(leaving);
    at("stay").hidden = true;
    write("leaving", "You stay on this page.");
    at("onward").focus();
  });

  const show = (news) => {
    page.dataset.state = news.state;
    over = news.over;
    document.title = `${news.title} · ${document.querySelector("h1").textContent}`;
    write("title", news.title);
    write("detail", news.detail);
    write("message", news.message ?? "");
    write("due", news.due ?? "");
    if (pay) {
      const loses = !news.open && pay.contains(document.activeElement);
      pay.hidden = !news.open;
      if (loses) at("title").focus();
    }
    if (news.redirect_url) lead(news.redirect_url);
  };

  const ask = async () => {
    clearTimeout(timer);
    if (asking || over || document.hidden) return;
    asking = true;
    try {
      const address = `${location.pathname.replace(/\/+$/, "")}/status`;
      const answer = await fetch(address, { cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(10000) });
      if (!answer.ok) throw new Error(String(answer.status));
      const text = await answer.text();
      pause = text === last ? Math.min(pause * 1.25, number("pollMsMax")) : soon;
      last = text;
      show(JSON.parse(text).data);
    } catch {
      pause = Math.min(pause * 2, number("retryMsMax"));
    }
    asking = false;
    if (!over) timer = setTimeout(ask, pause);
  };

  const copy = async (button) => {
    const place = at(button.dataset.copies);
    try {
      await navigator.clipboard.writeText(place.textContent);
      at("said").textContent = "";
      write("said", button.dataset.said);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = button.dataset.label; }, 2000);
    } catch {
      // Not allowed here: what is marked can be copied by hand.
      getSelection().selectAllChildren(place);
      write("said", "Marked: copy it by hand");
    }
  };

  for (const button of document.querySelectorAll("[data-copies]")) {
    button.dataset.label = button.textContent;
    button.addEventListener("click", () => copy(button));
  }
  document.addEventListener("visibilitychange", ask);
  if (at("onward").href) lead(at("onward").href);
  if (!over) timer = setTimeout(ask, pause);
})();

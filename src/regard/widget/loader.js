// Opens the script that draws, which a page carries deflated, or says why that cannot be.
(() => {
  const hosts = [...document.querySelectorAll(".regard-look:not([data-opened])")];
  const complain = (words) => {
    for (const host of hosts) {
      const said = document.createElement("p");
      said.setAttribute("role", "alert");
      said.textContent = words;
      host.append(said);
    }
  };
  const code = hosts.map((host) => host.querySelector('[data-part="code"]')).find(Boolean);
  if (!code) return;
  if (typeof DecompressionStream === "undefined") {
    complain(
      "This browser cannot open the maps: it has no DecompressionStream. " +
        "Chrome or Edge 80, Firefox 113, Safari 16.4 and all later ones have it.",
    );
    return;
  }
  const open = async () => {
    const bytes = Uint8Array.from(atob(code.textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    script.remove();
    regardLook.openAll(document);
  };
  // One after another: what the first has opened, the next leaves alone.
  window.regardLooks = (window.regardLooks ?? Promise.resolve()).then(() => {
    if (!document.querySelector(".regard-look:not([data-opened])")) return null;
    return open().catch((error) => complain(`The maps cannot be shown: ${error.message}. Was the file cut short?`));
  });
})();

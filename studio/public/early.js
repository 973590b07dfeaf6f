// Before the first paint: the theme and the language a person chose, so that nothing flashes.
(() => {
  const asked = new URLSearchParams(location.search);
  let kept = {};
  try {
    kept = JSON.parse(localStorage.getItem('regard.studio') || '{}');
  } catch {
    // no storage here: the system decides
  }
  const theme = asked.get('theme') || kept.theme;
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  const language = asked.get('lang') || kept.language;
  if (language === 'en' || language === 'fr') document.documentElement.lang = language;
})();

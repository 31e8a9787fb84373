// Runs before the first paint: the color scheme that was chosen in the dashboard.
;(() => {
  const chosen = localStorage.getItem('mantine-color-scheme-value')
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.scheme = chosen
  document.documentElement.classList.add('scripted')
})()

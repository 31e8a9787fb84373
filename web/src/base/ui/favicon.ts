// The icon of the tab: the logo, or the status of the run that the page shows, in shapes that differ without color.
const LOGO = '/favicon.ico'

const WAITING = { color: '#6b6478', shape: stroke('M16 8v9l6 4', 4) }
const ICONS: Record<string, { color: string; shape: string }> = {
  pending: WAITING,
  waiting: WAITING,
  queued: WAITING,
  'in-progress': { color: '#0b6cbd', shape: '<path d="M11 8l14 8-14 8z" fill="#fff"/>' },
  completed: { color: '#0b7a5b', shape: stroke('M8 17l5 5 11-12', 4) },
  failed: { color: '#c24400', shape: stroke('M10 10l12 12M22 10L10 22', 4) },
  skipped: { color: '#6b6478', shape: stroke('M9 16h14', 4) },
}

function stroke(path: string, width: number): string {
  return `<path d="${path}" fill="none" stroke="#fff" stroke-width="${width}" stroke-linecap="round" stroke-linejoin="round"/>`
}

/** `state` is a status, or `idle`. */
export function setFavicon(state: string): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]')
  const icon = ICONS[state]
  if (link) link.href = icon ? `data:image/svg+xml,${encodeURIComponent(draw(icon))}` : LOGO
}

function draw({ color, shape }: { color: string; shape: string }): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="${color}"/>${shape}</svg>`
}

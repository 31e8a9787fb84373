// The title of the tab and its icon say how things stand, for whoever waits in another tab.
import { useEffect } from 'react'
import { STATUS_SIGNS, type Status } from '../words/statuses.ts'
import { useRunningCount } from './running-count.ts'

const COLOURS: Record<string, string> = {
  idle: '#6b6478',
  'in-progress': '#0b6cbd',
  completed: '#0b7a5b',
  failed: '#c24400',
}

/** Without a status of its own the page shows whether anything runs. */
export function PageTitle({ title, status }: { title: string; status?: Status }) {
  const running = useRunningCount()
  useEffect(() => {
    const prefix = status ? `${STATUS_SIGNS[status]} ` : running > 0 ? `(${running}) ` : ''
    document.title = `${prefix}${title} · Gantry`
    drawIcon(status ?? (running > 0 ? 'in-progress' : 'idle'))
  }, [title, status, running])
  return null
}

function drawIcon(state: string): void {
  const colour = COLOURS[state] ?? COLOURS.idle!
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="${colour}"/>${shapeOf(state)}</svg>`
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]')
  if (link) link.href = `data:image/svg+xml,${encodeURIComponent(svg)}`
}

function shapeOf(state: string): string {
  const line = (path: string) =>
    `<path d="${path}" fill="none" stroke="#fff" stroke-width="4" stroke-linecap="round" stroke-linejoin="round"/>`
  switch (state) {
    case 'in-progress':
      return '<path d="M11 8l14 8-14 8z" fill="#fff"/>'
    case 'completed':
      return line('M8 17l5 5 11-12')
    case 'failed':
      return line('M10 10l12 12M22 10L10 22')
    default:
      return line('M7 9h18M11 9v15M21 9v8')
  }
}

import { useLocationProperty } from 'wouter/use-browser-location'
import { type LogLink, logLinkHash, readLogLink } from './log-link.ts'

/** The lines that the URL links to, and a function that changes them; with undefined it links to none. */
export function useLogLink(): [LogLink | undefined, (link: LogLink | undefined) => void] {
  const hash = useLocationProperty(() => window.location.hash)
  return [readLogLink(hash), setLogLink]
}

/** Marking lines is no step in the history: Back leaves the page. */
function setLogLink(link: LogLink | undefined): void {
  const { pathname, search } = window.location
  window.history.replaceState(
    window.history.state,
    '',
    `${pathname}${search}${link ? logLinkHash(link) : ''}`,
  )
}

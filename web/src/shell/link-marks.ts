/** Identifies a link on a page that is rendered again: the n-th of those that lead there. */
export type LinkMark = { href: string; index: number }

export function markLink(link: Element | null): LinkMark | undefined {
  const href = link?.getAttribute('href')
  // A dialog or drawer is closed on the way back.
  if (!link || !href || link.closest('[role="dialog"]')) return undefined
  return { href, index: linksTo(href).indexOf(link as HTMLElement) }
}

export function findLink({ href, index }: LinkMark): HTMLElement | undefined {
  const links = linksTo(href)
  return links[index] ?? links[0]
}

function linksTo(href: string): HTMLElement[] {
  return findVisible(`a[href="${CSS.escape(href)}"]`)
}

/** React keeps the page before, hidden, while the next one is loading. */
export function findVisible(selector: string): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(selector)].filter((element) => element.checkVisibility())
}

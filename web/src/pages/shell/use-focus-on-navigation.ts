// Where the focus and the scroll position are after a navigation: at the heading of the next page or, on the way back,
// at the link that was followed.
import { useEffect, useRef } from 'react'

type Position = { link: LinkMark | undefined; scroll: number }
type NavigationApi = EventTarget & { currentEntry: { key: string } | null }

/** Content that is still loading may take this long to appear. */
const PATIENCE_MS = 5_000
const INTERACTIONS = ['pointerdown', 'keydown', 'wheel'] as const

/** Where the browser has no Navigation API, Back leads to the heading as well. */
export function useFocusOnNavigation(location: string): void {
  const positions = useRef(new Map<string, Position>())
  const isTraversal = useRef(false)
  const last = useRef(location)

  useEffect(() => {
    const { navigation } = window as { navigation?: NavigationApi }
    let followed: Element | null = null
    const onClick = ({ target }: Event) => {
      followed = target instanceof Element ? target.closest('a[href]') : null
    }
    const onNavigate = (event: Event) => {
      const { navigationType } = event as Event & { navigationType: string }
      const key = navigation?.currentEntry?.key
      if (navigationType === 'replace' || !key) return
      isTraversal.current = navigationType === 'traverse'
      const link = isTraversal.current ? positions.current.get(key)?.link : markLink(followed)
      positions.current.set(key, { link, scroll: scrollY })
      followed = null
    }
    addEventListener('click', onClick, true)
    navigation?.addEventListener('navigate', onNavigate)
    return () => {
      removeEventListener('click', onClick, true)
      navigation?.removeEventListener('navigate', onNavigate)
    }
  }, [])

  useEffect(() => {
    if (last.current === location) return
    last.current = location
    const { navigation } = window as { navigation?: NavigationApi }
    const key = isTraversal.current ? navigation?.currentEntry?.key : undefined
    const position = key === undefined ? undefined : positions.current.get(key)
    if (!position) scrollTo(0, 0)
    return whenPresent(
      () => (position?.link ? findLink(position.link) : findVisible('main h1')[0]),
      (element) => {
        // The next page opened a form.
        if (!position && document.activeElement?.matches('main :is(input, textarea)')) return true
        if (element.matches('h1')) element.tabIndex = -1
        element.focus({ preventScroll: true })
        if (position) scrollTo(0, position.scroll)
        // A list that is still loading is not yet long enough.
        return !position || scrollY >= position.scroll - 1
      },
    )
  }, [location])
}

/** Again whenever the page changes, until `act` succeeds or the person does something else. */
function whenPresent(
  find: () => HTMLElement | undefined,
  act: (element: HTMLElement) => boolean,
): () => void {
  const stopped = new AbortController()
  const observer = new MutationObserver(attempt)
  stopped.signal.addEventListener('abort', () => observer.disconnect())
  const timer = setTimeout(() => stopped.abort(), PATIENCE_MS)
  for (const type of INTERACTIONS)
    addEventListener(type, () => stopped.abort(), { signal: stopped.signal, capture: true, passive: true })

  function attempt(): void {
    const element = find()
    if (element && act(element)) stopped.abort()
  }

  observer.observe(document.body, { childList: true, subtree: true })
  attempt()
  return () => {
    clearTimeout(timer)
    stopped.abort()
  }
}

/** Identifies a link on a page that is rendered again: the n-th of those that lead there. */
type LinkMark = { href: string; index: number }

function markLink(link: Element | null): LinkMark | undefined {
  const href = link?.getAttribute('href')
  // A dialog or drawer is closed on the way back.
  if (!link || !href || link.closest('[role="dialog"]')) return undefined
  return { href, index: linksTo(href).indexOf(link as HTMLElement) }
}

function findLink({ href, index }: LinkMark): HTMLElement | undefined {
  const links = linksTo(href)
  return links[index] ?? links[0]
}

function linksTo(href: string): HTMLElement[] {
  return findVisible(`a[href="${CSS.escape(href)}"]`)
}

/** React keeps the page before, hidden, while the next one is loading. */
function findVisible(selector: string): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(selector)].filter((element) => element.checkVisibility())
}

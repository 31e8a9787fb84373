import { useCallback, useState } from 'react'

/** Whether an element scrolls sideways. Then the keyboard has to reach it, also where nothing in it takes the focus. */
export function useScrollable(): [(element: HTMLElement | null) => (() => void) | undefined, boolean] {
  const [isScrollable, setScrollable] = useState(false)
  const ref = useCallback((element: HTMLElement | null) => {
    if (!element) return undefined
    const observer = new ResizeObserver(() => setScrollable(element.scrollWidth > element.clientWidth))
    for (const one of [element, ...element.children]) observer.observe(one)
    return () => observer.disconnect()
  }, [])
  return [ref, isScrollable]
}

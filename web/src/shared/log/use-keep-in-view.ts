import { type RefObject, useEffect } from 'react'

/** Where the page was scrolled to last by this module: a person who scrolls elsewhere stays there. */
let scrolledTo = 0

/** Scrolls the page so that the end of a log that is followed is in view, unless the person has scrolled away. */
export function useKeepInView(frame: RefObject<HTMLElement | null>, isActive: boolean): void {
  useEffect(() => {
    const isUntouched = scrollY === 0 || Math.abs(scrollY - scrolledTo) < 2
    if (!isActive || !isUntouched) return
    frame.current?.scrollIntoView({ block: 'nearest' })
    scrolledTo = scrollY
  }, [frame, isActive])
}

import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { isPageOfPlace, LEVELS, type Place, placeSearch, readPlace } from './place.ts'

export function usePlace(): [Place, (place: Place) => void] {
  const [search, setSearch] = useSearchParams()
  const choose = (place: Place) =>
    setSearch((before) => {
      const after = new URLSearchParams(before)
      for (const level of LEVELS) {
        if (place[level] === undefined) after.delete(level)
        else after.set(level, String(place[level]))
      }
      // Page 7 of one place is not page 7 of another.
      after.delete('page')
      return after
    })
  return [readPlace(search), choose]
}

/** What links to other pages take along: the place of the address or, on a page about one thing, the one before it. */
export function useCarriedPlace(): string {
  const [location] = useLocation()
  const [search] = useSearchParams()
  const here = placeSearch(readPlace(search))
  const [last, setLast] = useState(here)
  if (!isPageOfPlace(location)) return last
  if (here !== last) setLast(here)
  return here
}

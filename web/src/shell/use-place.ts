import { useSearchParams } from 'wouter'
import { LEVELS, type Place, readPlace } from './place.ts'

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

/** The place as the end of a link's address: `?organization=1`, or nothing. */
export function useCarriedPlace(): string {
  const [search] = useSearchParams()
  const carried = new URLSearchParams()
  for (const [level, id] of Object.entries(readPlace(search))) carried.set(level, String(id))
  return carried.size === 0 ? '' : `?${carried}`
}

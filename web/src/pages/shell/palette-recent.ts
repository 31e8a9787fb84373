// What a person chose in the palette, latest first. It is kept in this browser until they sign out.
import type { Item } from './palette-items.ts'

const KEY = 'gantry-recent'
const MAX_ITEMS = 8

export function readRecent(userId: number): Item[] {
  try {
    const { user, items } = JSON.parse(localStorage.getItem(KEY) ?? '{}')
    return user === userId && Array.isArray(items) ? items : []
  } catch {
    return []
  }
}

export function addRecent(userId: number, item: Item): void {
  const others = readRecent(userId).filter(({ key }) => key !== item.key)
  write(JSON.stringify({ user: userId, items: [item, ...others].slice(0, MAX_ITEMS) }))
}

export function forgetRecent(): void {
  write(null)
}

/** Browsers may deny the storage; then nothing is recent. */
function write(value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, value)
  } catch {}
}

import type { Caller } from '#access/authorization/caller.ts'
import { can, type Permission, type Scope } from '#access/authorization/permissions.ts'

/** Something that a finding names. */
export type Named = Scope & { name: string }

const MAX_NAMES = 5

/** `: web-1, web-2, …`; an instance administrator sees nothing of an organization without a grant there. */
export function namesOf(caller: Caller, permission: Permission, found: readonly Named[]): string {
  const names = found.filter((one) => can(caller, permission, one)).map(({ name }) => name)
  if (names.length === 0) return ''
  const isAll = found.length <= Math.min(names.length, MAX_NAMES)
  return `: ${[...names.slice(0, MAX_NAMES), ...(isAll ? [] : ['…'])].join(', ')}`
}

/** `1 job`, `2 jobs` */
export function counted(count: number, word: string): string {
  return `${count.toLocaleString('en-US')} ${word}${count === 1 ? '' : 's'}`
}

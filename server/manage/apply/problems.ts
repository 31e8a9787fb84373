import type { HttpProblem } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { Fault, Path } from './positions.ts'

/** What stands against applying a document, by the answer that it leads to. */
export type Problems = { lacking: Fault[]; faults: Fault[]; conflicts: Fault[] }

export const noProblems = (): Problems => ({ lacking: [], faults: [], conflicts: [] })

export function hasProblems({ lacking, faults, conflicts }: Problems): boolean {
  return lacking.length + faults.length + conflicts.length > 0
}

/** A refusal of a room, told about the part of the document that is at fault. */
export function noteRefusal(problems: Problems, at: Path, refusal: HttpProblem): void {
  switch (refusal.kind) {
    case 'forbidden':
      problems.lacking.push({ path: at, message: refusal.reason, onKey: true })
      return
    case 'invalid':
    case 'unknown':
      problems.faults.push(...faultsBelow(at, refusal.errors))
      return
    case 'conflict':
      problems.conflicts.push({ path: at, message: refusal.reason, onKey: true })
      return
    case 'gone':
    case 'changed-meanwhile':
      problems.conflicts.push({
        path: at,
        message: 'has changed at this very moment: apply again',
        onKey: true,
      })
  }
}

function faultsBelow(at: Path, errors: ErrorsByField): Fault[] {
  return Object.entries(errors).flatMap(([field, messages]) =>
    messages.map((message) =>
      field === 'name'
        ? { path: at, message, onKey: true }
        : { path: [...at, ...inDocument(field)], message },
    ),
  )
}

/** The fields of the API that the document writes in another way. */
function inDocument(field: string): Path {
  const link = /^linked_resources\.(\d+)/.exec(field)
  if (link) return ['servers', Number(link[1])]
  if (field === 'linked_resources') return ['servers']
  if (field === 'credential_id') return ['credential']
  return field.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part))
}

/** Most of them, each with its place in the document. */
export function describeFaults(
  faults: readonly Fault[],
  locate: (path: Path, onKey?: boolean) => string,
  hide: (text: string) => string,
): ErrorsByField {
  const errors = new Map<string, string[]>()
  for (const { path, message, onKey } of faults.slice(0, MOST_FAULTS)) {
    const field = path.join('.').slice(0, MOST_FIELD_CHARACTERS) || 'document'
    const said = `${locate(path, onKey)}: ${hide(message)}`
    const known = errors.get(field) ?? []
    if (!known.includes(said)) errors.set(field, [...known, said])
  }
  return Object.fromEntries(errors)
}

const MOST_FAULTS = 100
const MOST_FIELD_CHARACTERS = 512

import type { HttpProblem } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'

/** Where something is in a document: keys and list indexes, from the outside in. */
export type Path = readonly (string | number)[]

/** What prevents a document from being applied. */
export type Problem = {
  path: Path
  message: string
  /** The problem is at the key, not at its value. */
  onKey?: boolean
  /** Absent: the document is invalid. */
  kind?: 'forbidden' | 'conflict'
}

const MAX_PROBLEMS = 100
const MAX_FIELD_CHARACTERS = 512

/** The problem that another room reported about the resource at a path of the document. */
export function toProblems(at: Path, problem: HttpProblem): Problem[] {
  switch (problem.kind) {
    case 'forbidden':
    case 'conflict':
      return [{ kind: problem.kind, path: at, message: problem.reason, onKey: true }]
    case 'invalid':
    case 'unknown':
      return Object.entries(problem.errors).flatMap(([field, messages]) =>
        messages.map((message) =>
          field === 'name'
            ? { path: at, message, onKey: true }
            : { path: [...at, ...documentField(field)], message },
        ),
      )
    case 'gone':
    case 'changed-meanwhile':
      return [{ kind: 'conflict', path: at, message: 'was changed concurrently: apply again', onKey: true }]
  }
}

/** Translates the API fields that have another name in the document. */
function documentField(field: string): Path {
  const link = /^linked_resources\.(\d+)/.exec(field)
  if (link) return ['servers', Number(link[1])]
  if (field === 'linked_resources') return ['servers']
  if (field === 'credential_id') return ['credential']
  return field.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part))
}

/** The first problems, each with its line and column. */
export function describeProblems(
  problems: readonly Problem[],
  locate: (path: Path, onKey?: boolean) => string,
  hide: (text: string) => string,
): ErrorsByField {
  const errors = new Map<string, Set<string>>()
  for (const { path, message, onKey } of problems.slice(0, MAX_PROBLEMS)) {
    const field = path.join('.').slice(0, MAX_FIELD_CHARACTERS) || 'document'
    errors.set(field, (errors.get(field) ?? new Set()).add(`${locate(path, onKey)}: ${hide(message)}`))
  }
  return Object.fromEntries([...errors].map(([field, messages]) => [field, [...messages]]))
}

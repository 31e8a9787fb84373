import type { ErrorsByField } from '#platform/http/validation.ts'
import type { ApplyInput } from './apply-document.ts'
import { checkShape } from './check-shape.ts'
import type { Fault, Path } from './positions.ts'
import { describeFaults } from './problems.ts'
import { readDocument } from './read-document.ts'
import type { ApplyBody, GantryDocument } from './schemas.ts'
import { listThings, type Wanted } from './things.ts'

/** Each is looked at and stored by itself; a transaction must end in time. */
const MOST_THINGS = 5_000

export type ReadWish =
  | (ApplyInput & {
      kind: 'wish'
      unusedValues: string[]
      locate: (path: Path, onKey?: boolean) => string
      /** Takes the values of the request out of a text. */
      hide: (text: string) => string
    })
  | { kind: 'invalid'; errors: ErrorsByField }

/** The body of a request → what is wished for, or all that is wrong with it by itself. */
export function readWish({
  document: text,
  values = {},
  dry_run = false,
  prune = false,
}: ApplyBody): ReadWish {
  const read = readDocument(text, values)
  if (read.kind === 'unreadable') return { kind: 'invalid', errors: read.errors }
  const { locate, isFilled, unusedValues } = read
  const hide = (message: string) => hideValues(message, values)
  const shape = checkShape(read.value)
  const faults = [
    ...read.faults,
    ...(shape.kind === 'faults' ? shape.faults : checkDocument(shape.document, isFilled)),
  ]
  if (shape.kind === 'faults' || faults.length > 0)
    return { kind: 'invalid', errors: describeFaults(faults, locate, hide) }
  const { document } = shape
  return {
    kind: 'wish',
    wanted: listThings(document),
    organization: document.organization,
    project: document.project.name,
    isFilled,
    prune,
    dryRun: dry_run,
    unusedValues,
    locate,
    hide,
  }
}

function checkDocument(document: GantryDocument, isFilled: (path: Path) => boolean): Fault[] {
  const things = listThings(document)
  if (things.length > MOST_THINGS)
    return [{ path: [], message: `speaks of more than ${MOST_THINGS} things: divide it into several` }]
  return things
    .flatMap(namesIn)
    .filter(isFilled)
    .map((path) => ({
      path,
      message: 'is a name, which cannot be filled in from values',
    }))
}

/** Names are shown to people, in answers and in the audit; values never are. */
function namesIn({ type, at, body }: Wanted): Path[] {
  if (type === 'organization') return [at]
  if (type === 'project') return [[...at, 'name']]
  if (type === 'step')
    return [
      [...at, 'name'],
      [...at, 'trigger_after'],
    ]
  return ['credential', 'servers', 'run_after']
    .filter((field) => field in body)
    .map((field) => [...at, field])
}

/** Short ones are found in any text; hiding them would only make it unreadable. */
const SHORTEST_HIDDEN = 4

function hideValues(text: string, values: Readonly<Record<string, string>>): string {
  return Object.values(values)
    .filter((value) => value.length >= SHORTEST_HIDDEN)
    .reduce((hidden, value) => hidden.replaceAll(value, '********'), text)
}

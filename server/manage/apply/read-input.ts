import type { ErrorObject } from 'ajv'
import { hookSchemas } from '#model/hooks/schemas.ts'
import { createValidatorCompiler, type ErrorsByField, errorsByField } from '#platform/http/validation.ts'
import { createMask, type Mask } from '#platform/masking/mask.ts'
import { describeProblems, type Path, type Problem } from './problems.ts'
import { readDocument } from './read-document.ts'
import { type DesiredResource, listResources } from './resources.ts'
import { type ApplyBody, documentSchema, type GantryDocument } from './schemas.ts'

/** Each is compared and stored individually, and the transaction must end in time. */
const MAX_RESOURCES = 5_000
const MAX_SCHEMA_ERRORS = 100

/** What to apply. */
export type ApplyInput = {
  desired: readonly DesiredResource[]
  organization: string
  project: string
  isFilled: (path: Path) => boolean
  prune: boolean
  dryRun: boolean
}

export type ReadInput =
  | (ApplyInput & {
      kind: 'input'
      unusedValues: string[]
      locate: (path: Path, onKey?: boolean) => string
      /** Removes the values of the request from a text. */
      hide: (text: string) => string
    })
  | { kind: 'invalid'; errors: ErrorsByField }

/** Parses the body of a request; reports everything that is wrong with the document by itself. */
export function readInput(body: ApplyBody): ReadInput {
  const { document: text, values = {}, dry_run: dryRun = false, prune = false } = body
  const read = readDocument(text, values)
  if (read.kind === 'unreadable') return { kind: 'invalid', errors: read.errors }
  const { locate, isFilled, unusedValues } = read
  let mask: Mask | undefined
  const hide = (message: string) => {
    mask ??= createMask(Object.values(values))
    return mask.text(message)
  }
  const checked = validateSchema(read.value)
  const desired = 'document' in checked ? listResources(checked.document) : []
  const problems = [
    ...read.problems,
    ...('document' in checked ? validateNames(desired, isFilled) : checked.problems),
  ]
  if (!('document' in checked) || problems.length > 0)
    return { kind: 'invalid', errors: describeProblems(problems, locate, hide) }
  const { organization, project } = checked.document
  const input = { desired, organization, project: project.name, isFilled, prune, dryRun }
  return { kind: 'input', ...input, unusedValues, locate, hide }
}

let validate: ReturnType<ReturnType<typeof createValidatorCompiler>> | undefined

/** They only report that one of their parts failed, which is reported separately. */
const SUMMARY_KEYWORDS = ['if', 'anyOf', 'propertyNames']

function validateSchema(value: unknown): { document: GantryDocument } | { problems: Problem[] } {
  // Compiled on first use: most processes never apply a document.
  validate ??= createValidatorCompiler(hookSchemas)({ schema: documentSchema, httpPart: 'body' })
  const checked = validate(value)
  if ('value' in checked) return { document: value as GantryDocument }
  const errors = checked.error.filter(({ keyword }) => !SUMMARY_KEYWORDS.includes(keyword))
  return { problems: errors.slice(0, MAX_SCHEMA_ERRORS).map(toProblem) }
}

function toProblem(error: ErrorObject): Problem {
  const parts = error.instancePath.split('/').slice(1)
  const path = parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const message = Object.values(errorsByField([error]))[0]?.[0] ?? 'is invalid'
  const { missingProperty, additionalProperty } = error.params
  const key =
    error.keyword === 'required'
      ? missingProperty
      : error.keyword === 'additionalProperties'
        ? additionalProperty
        : error.propertyName
  return key === undefined ? { path, message } : { path: [...path, key], message, onKey: true }
}

function validateNames(desired: readonly DesiredResource[], isFilled: (path: Path) => boolean): Problem[] {
  if (desired.length > MAX_RESOURCES)
    return [
      { path: [], message: `has more than ${MAX_RESOURCES} resources: split it into several documents` },
    ]
  return desired
    .flatMap(namePaths)
    .filter(isFilled)
    .map((path) => ({ path, message: 'is a name, and names cannot be filled in from values' }))
}

/** Names are shown to people, in responses and in the audit log; values never are. */
function namePaths({ type, at, body }: DesiredResource): Path[] {
  if (type === 'organization') return [at]
  if (type === 'project') return [[...at, 'name']]
  if (type === 'step') return ['name', 'trigger_after'].map((field) => [...at, field])
  const fields = ['credential', 'servers', 'run_after'].filter((field) => field in body)
  return fields.map((field) => [...at, field])
}

import { userSchema } from '#access/accounts/user-schema.ts'
import { actionSchema, actionSchemas, applicationSchema } from '#model/actions/schemas.ts'
import {
  environmentSchema,
  organizationSchema,
  projectSchema,
  resourceSummarySchema,
} from '#model/inventory/schemas.ts'
import { compileRequest, type HookRequest } from './compile.ts'
import { type JsonSchema, templateNames } from './names.ts'
import { type Rendered, renderRequest, type TemplateContext } from './render.ts'

/** How templates name the variables of the hook that started a run. */
export const VARIABLES = 'action.triggered_from.hook_parsed_variables'

const schemas = [
  ...actionSchemas,
  environmentSchema,
  organizationSchema,
  projectSchema,
  resourceSummarySchema,
  userSchema,
] as unknown as (JsonSchema & { $id: string })[]

export const NAMES = templateNames(
  {
    action: actionSchema as unknown as JsonSchema,
    application: applicationSchema as unknown as JsonSchema,
    environment: environmentSchema as unknown as JsonSchema,
    project: projectSchema as unknown as JsonSchema,
    organization: organizationSchema as unknown as JsonSchema,
  },
  (ref) => schemas.find(({ $id }) => `${$id}#` === ref),
)

export function contextWith(variables: Record<string, unknown> = {}): TemplateContext {
  return {
    event: {
      id: 'e-1',
      kind: 'action.completed',
      occurred_at: '2026-11-15T08:00:00.000Z',
      previous_status: null,
    },
    action: {
      id: 7,
      status: 'completed',
      url_web_permalink: 'https://gantry.example/app/actions/7',
      triggered_from: { hook_parsed_variables: variables },
      targets: [
        { status: 'failed', resource_data: { name: 'web-1' } },
        { status: 'completed', resource_data: { name: 'web-2' } },
      ],
    },
    application: { name: 'shop/front', source_provider: { name: 'github', access_token: 'glpat-secret' } },
    pipeline: { id: 3, name: 'Deploy', operation: 'deploy' },
  }
}

type Parts = {
  url?: string
  headers?: readonly { name: string; value: string }[]
  body?: Record<string, unknown> | null
  method?: string
}

export function hookWith({ url, headers, body, method }: Parts): HookRequest {
  return {
    target_url: url ?? 'https://receiver.example/hook',
    settings: {
      request_headers: headers ?? [],
      request_body: body ?? null,
      request_method: method ?? 'POST',
    },
  }
}

export function compiled(parts: Parts) {
  const outcome = compileRequest(hookWith(parts), NAMES)
  if (outcome.kind === 'invalid') throw new Error(JSON.stringify(outcome.errors))
  return outcome.request
}

export function problemsOf(parts: Parts): Record<string, string[]> {
  const outcome = compileRequest(hookWith(parts), NAMES)
  return outcome.kind === 'invalid' ? outcome.errors : {}
}

export function render(parts: Parts, variables: Record<string, unknown> = {}): Rendered {
  return renderRequest(compiled(parts), contextWith(variables))
}

export function rendered(parts: Parts, variables: Record<string, unknown> = {}) {
  const outcome = render(parts, variables)
  if (outcome.kind === 'failed') throw new Error(`${outcome.field} ${outcome.message}`)
  const { url, headers, body } = outcome
  return { url, headers, body: body && JSON.parse(body.toString()) }
}

/** What a text of the body becomes. */
export function textOf(text: string, variables: Record<string, unknown> = {}): string {
  return rendered({ body: { text } }, variables).body.text
}

import type { FastifyContextConfig, FastifySchema } from 'fastify'
import type { Access } from './enforce.ts'

/** Its summary, what else Fastify should know of the route, and the schemas of requests and responses. */
type Described = { summary: string; traits?: Omit<FastifyContextConfig, 'access'> } & FastifySchema

/** The options of the routes of one tag: who may call a route, and how the OpenAPI document describes it. */
export function operationsOf(tag: string) {
  return <Schema extends Described>(access: Access, operationId: string, { traits, ...schema }: Schema) => {
    const security = access.kind === 'public' ? { security: [] } : {}
    return { config: { access, ...traits }, schema: { tags: [tag], operationId, ...security, ...schema } }
  }
}

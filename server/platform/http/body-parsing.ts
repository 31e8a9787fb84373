import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError, invalid } from './errors.ts'
import { parseJsonBody, unstorableReason } from './json-body.ts'
import './route-config.ts'

/** Bodies are JSON and nothing else; Fastify would take plain text too. */
export function installBodyParsing(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    /^application\/([\w.-]+\+)?json\s*(;|$)/i,
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => readBody(request, bytes),
  )
  app.addHook('preValidation', async (request) => {
    if (request.body === undefined && request.routeOptions.config.bodyOptional) request.body = {}
    refuseUnstorableQuery(request.query as Record<string, unknown>)
  })
}

function readBody(request: FastifyRequest, bytes: Buffer): unknown {
  // Clients that send Content-Type with everything also send it where there is nothing to send.
  const mayBeEmpty = request.method === 'DELETE' || request.routeOptions.config.bodyOptional
  if (bytes.length === 0 && mayBeEmpty) return undefined
  const parsed = parseJsonBody(bytes)
  switch (parsed.kind) {
    case 'parsed':
      return parsed.value
    case 'malformed':
      throw new ApiError('malformed', parsed.message)
    case 'unstorable':
      throw invalid({ [parsed.field]: [parsed.message] })
  }
}

function refuseUnstorableQuery(query: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(query ?? {})) {
    const fault = [value]
      .flat()
      .map((one) => unstorableReason(String(one)))
      .find((one) => one !== undefined)
    if (fault) throw invalid({ [name.replaceAll('\0', '?')]: [fault] })
  }
}

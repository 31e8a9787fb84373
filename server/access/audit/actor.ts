import type { FastifyRequest } from 'fastify'
import '#access/authorization/enforce.ts'
import type { Actor } from './record.ts'

export function actorOf(request: FastifyRequest): Actor {
  return { userId: request.caller?.id ?? null, ipAddress: request.ip, requestId: request.id }
}

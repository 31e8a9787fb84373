import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'

/** The OpenAPI document, made from the schemas that validate; served by the operations room. */
export async function installOpenApi(
  app: FastifyInstance,
  { version, baseUrl }: { version: string; baseUrl: () => string },
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Gantry',
        version,
        summary: 'Pipelines on your own servers, started and announced by webhooks.',
        description:
          'JSON in and out. Send `Authorization: Bearer <access_token>` from `POST /users/login`. Lists are bare arrays with `Link` and `X-Total-Count` headers. Errors have one form everywhere: see the schema Error.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      // Filled in when the document is read: the port may be known only then.
      servers: [{ url: '/' }],
      security: [{ bearer: [] }],
      tags: [
        { name: 'Actions', description: 'Runs of pipelines.' },
        { name: 'Hooks', description: 'Incoming hooks start runs; outgoing hooks tell about them.' },
        {
          name: 'Hook requests',
          description: 'Calls received and deliveries sent, to look at and to repeat.',
        },
        { name: 'Pipelines', description: 'What a run consists of.' },
        { name: 'Applications', description: 'What is deployed, where to, and with which variables.' },
        { name: 'Servers', description: 'Machines that pipelines run on.' },
        { name: 'Credentials', description: 'Tokens and keys, which never come out again.' },
        { name: 'Organizations', description: 'The top of the tree, and who changed what in it.' },
        { name: 'Projects', description: 'What belongs together in an organization.' },
        { name: 'Environments', description: 'Where a project runs.' },
        { name: 'Members', description: 'Who belongs to an organization.' },
        { name: 'Roles', description: 'Sets of permissions of an organization of its own.' },
        { name: 'Accounts', description: 'Logging in, and tokens.' },
        { name: 'Operations', description: 'Is it alive, is it ready, how is it doing.' },
      ],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    },
    refResolver: {
      buildLocalReference: (json, _baseUri, _fragment, index) =>
        typeof json.$id === 'string' ? json.$id : `def-${index}`,
    },
    transformObject: (documentObject) => {
      if (!('openapiObject' in documentObject)) return documentObject.swaggerObject
      describeSuccesses(documentObject.openapiObject.paths ?? {})
      return { ...documentObject.openapiObject, servers: [{ url: baseUrl() }] }
    },
  })
}

type Responses = Record<string, { description?: string }>

const SUCCESSES: Record<string, string> = {
  200: 'Success',
  201: 'Created',
  202: 'Accepted; it goes on in the background',
  204: 'Done; the answer is empty',
}

/** Refusals are described where they are listed (`refusals`); what is left says the same on every route. */
function describeSuccesses(paths: object): void {
  for (const operations of Object.values(paths)) {
    for (const { responses } of Object.values<{ responses?: Responses }>(operations)) {
      for (const [status, response] of Object.entries(responses ?? {})) {
        if (response.description === 'Default Response') response.description = SUCCESSES[status] ?? status
      }
    }
  }
}

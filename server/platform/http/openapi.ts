import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import type { RouteTraits } from './openapi-common.ts'
import { completeDocument } from './openapi-document.ts'
import examples from './openapi-examples.json' with { type: 'json' }

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The request body in the OpenAPI document, for a route that reads the bytes itself. */
    requestBody?: object
  }
}

/** The OpenAPI document, generated from the schemas that validate requests. */
export async function installOpenApi(
  app: FastifyInstance,
  { version, baseUrl }: { version: string; baseUrl: () => string },
): Promise<void> {
  const traits = new Map<string, RouteTraits>()
  app.addHook('onRoute', ({ method: methods, url, config = {} }) => {
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    for (const method of [methods].flat()) traits.set(`${method} ${path}`, config)
  })
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Gantry',
        version,
        summary: 'Deployment pipelines on your own servers, triggered by webhooks and reported by webhooks.',
        description:
          'Requests and responses are JSON. Authenticate with `Authorization: Bearer <access_token>`, using a token from `POST /users/login`. Lists are plain arrays, paginated by the headers `Link` and `X-Total-Count`. All errors have the form of the schema Error.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      // Set when the document is read: the port may be known only then.
      servers: [{ url: '/' }],
      security: [{ bearer: [] }],
      tags: [
        { name: 'Actions', description: 'Runs of pipelines.' },
        { name: 'Hooks', description: 'Incoming hooks start runs; outgoing hooks report their status.' },
        { name: 'Hook requests', description: 'Received calls and sent deliveries, which can be replayed.' },
        { name: 'Pipelines', description: 'The steps of a run, and the resource it runs on.' },
        { name: 'Gates', description: 'What a run passes between its creation and the queue.' },
        { name: 'Freezes', description: 'When nothing may start, in an environment or an organization.' },
        { name: 'Applications', description: 'What is deployed, where to, and with which variables.' },
        { name: 'Servers', description: 'Machines that pipelines run on.' },
        { name: 'Credentials', description: 'Tokens and keys. They are write-only.' },
        { name: 'Organizations', description: 'The root of all resources, and its audit log.' },
        { name: 'Projects', description: 'Groups of environments in an organization.' },
        { name: 'Environments', description: 'Stages of a project, such as staging or production.' },
        { name: 'Names', description: 'Finds every kind of resource by its name.' },
        { name: 'Members', description: 'Users of an organization, and their invitations.' },
        { name: 'Roles', description: 'Custom sets of permissions.' },
        { name: 'Accounts', description: 'Login, sessions and tokens.' },
        { name: 'Operations', description: 'Health, readiness and metrics.' },
      ],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    },
    refResolver: {
      buildLocalReference: (json, _baseUri, _fragment, index) =>
        typeof json.$id === 'string' ? json.$id : `def-${index}`,
    },
    transformObject: (documentObject) => {
      if (!('openapiObject' in documentObject)) return documentObject.swaggerObject
      const { openapiObject } = documentObject
      const contact = { name: 'The administrators of this instance', url: baseUrl() }
      const document = {
        ...openapiObject,
        info: { ...openapiObject.info!, contact },
        servers: [{ url: baseUrl() }],
      }
      completeDocument(document as never, (method, path) => traits.get(`${method} ${path}`) ?? {}, examples)
      return document
    },
  })
}

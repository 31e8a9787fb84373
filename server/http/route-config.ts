declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route answers something else than JSON: an event stream, a page. */
    notJson?: boolean
    /** The body may be left out altogether. */
    bodyOptional?: boolean
  }
}

export {}

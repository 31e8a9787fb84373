declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route answers something else than JSON, whatever the caller accepts: a page. */
    notJson?: boolean
    /** The route answers this type, and only to callers who name it: an event stream. */
    offers?: string
    /** The body may be left out altogether. */
    bodyOptional?: boolean
  }
}

export {}

/** Its folder; undefined when there is none. */
export const bundle: string | undefined

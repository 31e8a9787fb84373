/** The address if a browser may be sent there: a repository could name `javascript:`. */
export function webAddress(url: string | null | undefined): string | undefined {
  if (!url) return undefined
  try {
    return ['http:', 'https:'].includes(new URL(url).protocol) ? url : undefined
  } catch {
    return undefined
  }
}

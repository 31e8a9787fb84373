/** The owner and the name in a repository's address: `acme/shop`, an https or ssh URL, a path. */
export function parseRepository(repository: string): { owner: string | null; name: string | null } {
  const path = repository
    .replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '') // https://host/…, ssh://user@host:22/…, file:///…
    .replace(/^[^/\s]+:/, '') // git@host:…, host:…
  const parts = path.split('/').filter((part) => part !== '')
  const name = parts.at(-1)?.replace(/\.git$/, '') ?? null
  return { owner: parts.at(-2) ?? null, name: name === '' ? null : name }
}

import { VERSION } from './version.ts'

let seen: { url: string; version: string } | undefined

/** Every response to this program names the version of the instance. */
export function noticeVersion(url: string, response: Response): Response {
  const version = response.headers.get('x-gantry-version')
  if (version && /^[\w.+-]{1,40}$/.test(version)) seen = { url, version }
  return response
}

/** What to say at the end when the instance is of another version than this program. */
export function versionNote(): string | null {
  if (!seen || seen.version === VERSION) return null
  return `${seen.url} runs version ${seen.version}; this gantry is ${VERSION}. Get the matching one: curl -fsSL ${seen.url}/cli/install.sh | sh`
}

import { readFileSync, statSync } from 'node:fs'
import { decodeKeys, type KeySource, keyFile, loadMasterKeys } from './master-key.ts'
import type { KeyRing, Keys } from './secret-box.ts'

/**
 * The keys of a running process. Those of the key file follow the file, because a rotation replaces it while
 * processes run: whoever seals after the file was replaced seals with its first key. So the file is looked at each
 * time; that costs a few microseconds, and secrets are rare. A key that has left the file still opens: a row that was
 * read before it left may be opened after. Keys of the environment stay as they are.
 */
export async function openKeyRing(place: KeySource): Promise<KeyRing> {
  let keys = await loadMasterKeys(place)
  if (place.fromEnvironment !== undefined) return { current: () => keys, reread: () => keys }

  const path = keyFile(place.home)
  let seen = ''

  function reread(): Keys {
    // A file that is gone or damaged for a moment takes no keys from a process that runs.
    seen = stateOf(path)
    const [first, ...others] = readKeys(path) ?? keys
    keys = [first, ...withoutRepeats([...others, ...keys], first)]
    return keys
  }

  return { current: () => (stateOf(path) === seen ? keys : reread()), reread }
}

/** Changes whenever the file was replaced or written. */
function stateOf(path: string): string {
  const state = statSync(path, { bigint: true, throwIfNoEntry: false })
  return state ? `${state.ino} ${state.mtimeNs} ${state.size}` : ''
}

function withoutRepeats(keys: Buffer[], first: Buffer): Buffer[] {
  return keys.filter(
    (key, index) => !key.equals(first) && keys.findIndex((other) => other.equals(key)) === index,
  )
}

function readKeys(path: string): Keys | undefined {
  try {
    return decodeKeys(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

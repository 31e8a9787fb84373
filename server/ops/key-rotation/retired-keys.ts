import { readFile } from 'node:fs/promises'
import { decodeKeys, keyFile, replaceKeyFile } from '#platform/crypto/master-key.ts'

// Keys that nothing here is sealed with any more. Backups made before still need them, and a value that somehow
// escaped a rotation is not lost.

export function retiredFile(home: string): string {
  return `${keyFile(home)}.retired`
}

export async function readRetired(home: string): Promise<Buffer[]> {
  const text = await readFile(retiredFile(home), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return [...(decodeKeys(text) ?? [])]
}

/** The one that was retired last comes first. */
export async function retire(home: string, keys: Buffer[]): Promise<void> {
  const known = await readRetired(home)
  const [first, ...others] = [...keys, ...known.filter((one) => !keys.some((key) => key.equals(one)))]
  if (first) await replaceKeyFile(retiredFile(home), [first, ...others])
}

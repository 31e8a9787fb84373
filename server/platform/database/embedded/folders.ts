import { chmod, lstat, mkdir } from 'node:fs/promises'

/**
 * Makes the folder, or takes an existing one only if nobody else can have put anything into it: in a shared
 * place such as /tmp the name may have been taken by another account.
 */
export async function ownFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const folder = await lstat(path)
    const ours = folder.isDirectory() && folder.uid === process.getuid!() && (folder.mode & 0o022) === 0
    if (!ours) throw new Error(`${path} exists already and belongs to someone else: it is not used`)
  }
  // Said explicitly, as mkdir's mode is cut by the umask.
  await chmod(path, mode)
}

/** The first place where the folder can be had. */
export async function firstOwnFolder(paths: string[], mode: number): Promise<string> {
  const refusals: string[] = []
  for (const path of paths) {
    try {
      await ownFolder(path, mode)
      return path
    } catch (error) {
      refusals.push((error as Error).message)
    }
  }
  throw new Error(`no usable folder: ${refusals.join('; ')}`)
}

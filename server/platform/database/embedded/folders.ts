import { chmod, lstat, mkdir } from 'node:fs/promises'

/**
 * Creates the folder, or uses an existing one only if no other account can have written to it: in a shared directory
 * such as /tmp another account may have created it.
 */
export async function ownFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const folder = await lstat(path)
    const ours = folder.isDirectory() && folder.uid === process.getuid!() && (folder.mode & 0o022) === 0
    if (!ours) throw new Error(`${path} exists and belongs to another account`)
  }
  // Set explicitly, because the umask restricts mkdir's mode.
  await chmod(path, mode)
}

/** The first of the paths that can be used. */
export async function firstOwnFolder(paths: string[], mode: number): Promise<string> {
  const problems: string[] = []
  for (const path of paths) {
    try {
      await ownFolder(path, mode)
      return path
    } catch (error) {
      problems.push((error as Error).message)
    }
  }
  throw new Error(`no usable folder: ${problems.join('; ')}`)
}

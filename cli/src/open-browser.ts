import { spawn } from 'node:child_process'

const OPENERS: Partial<Record<NodeJS.Platform, [program: string, ...args: string[]]>> = {
  darwin: ['open'],
  // Not `start`, which is a shell command and would interpret the address.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** False where a person cannot be looking at a browser of this machine. */
export function hasBrowser(env: NodeJS.ProcessEnv): boolean {
  const isHeadless = process.platform === 'linux' && !env.DISPLAY && !env.WAYLAND_DISPLAY
  return env.BROWSER !== undefined || !(isHeadless || env.SSH_CONNECTION)
}

/** Whether a browser was asked to open the address. The program in $BROWSER is preferred. */
export function openBrowser(env: NodeJS.ProcessEnv, url: string): Promise<boolean> {
  if (!hasBrowser(env)) return Promise.resolve(false)
  const [program, ...args] = env.BROWSER ? [env.BROWSER] : (OPENERS[process.platform] ?? ['xdg-open'])
  return new Promise((resolve) => {
    const child = spawn(program!, [...args, url], { stdio: 'ignore', detached: true })
    child.on('error', () => resolve(false))
    child.on('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}

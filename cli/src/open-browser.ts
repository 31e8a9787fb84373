import { spawn } from 'node:child_process'

const OPENERS: Partial<Record<NodeJS.Platform, [program: string, ...args: string[]]>> = {
  darwin: ['open'],
  // Not `start`, which is a shell command and would interpret the address.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Whether a browser was asked to open the address. The program in $BROWSER is preferred. */
export function openBrowser(env: NodeJS.ProcessEnv, url: string): Promise<boolean> {
  const isHeadless = process.platform === 'linux' && !env.DISPLAY && !env.WAYLAND_DISPLAY
  if (isHeadless && !env.BROWSER) return Promise.resolve(false)
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

// Containers without a daemon or a registry: buildah builds and runs them, as root, from a base that
// scripts/test-tools.mjs has made.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Ajv, type ValidateFunction } from 'ajv'
import { type GantryProcess, startGantry } from './process.ts'

const BASE = fileURLToPath(new URL('../../node_modules/.cache/container-base', import.meta.url))
const COMPOSE_SCHEMA = fileURLToPath(
  new URL('../../node_modules/.cache/compose-schema/package/schemas/compose.schema.json', import.meta.url),
)
const CONTAINERFILE = fileURLToPath(new URL('../../deploy/container/Containerfile', import.meta.url))

/** What an image says about containers of it. */
export type ImageConfig = {
  User: string
  Env: string[]
  Entrypoint: string[]
  Cmd: string[] | null
  Volumes: Record<string, object>
  ExposedPorts: Record<string, object>
  StopSignal: string
  Healthcheck: { Test: [kind: string, command: string] }
}

export type Containers = Awaited<ReturnType<typeof openContainers>>

/** Images and containers are in `folder`, and disappear with it. */
export async function openContainers(folder: string) {
  const settings = join(folder, 'storage.conf')
  await mkdir(join(folder, 'root'), { recursive: true })
  const options = { runroot: join(folder, 'run'), graphroot: join(folder, 'root') }
  const lines = Object.entries(options).map(([name, path]) => `${name} = ${JSON.stringify(path)}`)
  const base = `[storage.options]\nadditionalimagestores = [${JSON.stringify(BASE)}]`
  await writeFile(settings, `[storage]\ndriver = "vfs"\n${lines.join('\n')}\n${base}\n`)
  const environment = { CONTAINERS_STORAGE_CONF: settings, BUILDAH_ISOLATION: 'chroot', TMPDIR: folder }

  async function buildah(...args: string[]): Promise<string> {
    const env = { ...process.env, ...environment }
    return (await promisify(execFile)('buildah', args, { env })).stdout.trim()
  }

  return {
    buildah,
    environment,
    /** `context`: an installed release. The build has no network. Docker's format, because the other has no health checks. */
    async build(image: string, context: string): Promise<ImageConfig> {
      const offline = ['--network=none', '--pull-never', '--build-arg=BASE=localhost/gantry-base']
      await buildah(
        'build',
        '--format=docker',
        `--file=${CONTAINERFILE}`,
        `--tag=${image}`,
        ...offline,
        context,
      )
      return JSON.parse(await buildah('inspect', '--type=image', image)).Docker.config
    },
  }
}

type Started = GantryProcess & {
  /** The process that the image names. */
  main: number
}

/**
 * Starts what the image of `container` starts. Only root may leave the root folder that buildah gives to a process, and the
 * kernel lets no such process make user namespaces: as in Docker, local steps cannot be isolated.
 */
export async function startContainer(
  t: Parameters<typeof startGantry>[0],
  { environment }: Containers,
  how: { container: string; config: ImageConfig; volume: string; env?: Record<string, string> },
): Promise<Started> {
  const volumes = Object.keys(how.config.Volumes).map((path) => `--volume=${how.volume}:${path}`)
  const env = Object.entries(how.env ?? {}).map(([name, value]) => `--env=${name}=${value}`)
  const command = commandOf(how.config)
  const program = ['buildah', 'run', ...volumes, ...env, how.container, '--', ...command] as const
  return withMain(await startGantry(t, environment, undefined, [...program]), command)
}

const ENTER = `
mount --bind "$ROOT" "$ROOT"
for path in $VOLUMES; do mount --bind "$DATA" "$ROOT$path"; done
mount -t proc proc "$ROOT/proc"
mount --rbind /dev "$ROOT/dev"
cd "$ROOT"
pivot_root . mnt
umount --lazy /mnt
exec setpriv --reuid="$ACCOUNT" --regid="$ACCOUNT" --init-groups --no-new-privs --bounding-set=-all \
  --inh-caps=-all -- env --ignore-environment "$@"`

/** The same in a container that allows user namespaces, and where the process of the image is the first one. */
export async function startOwnContainer(
  t: Parameters<typeof startGantry>[0],
  { buildah }: Containers,
  how: { container: string; config: ImageConfig; volume: string; env: Record<string, string> },
): Promise<Started> {
  const { config } = how
  const environment = {
    ROOT: await buildah('mount', how.container),
    DATA: how.volume,
    VOLUMES: Object.keys(config.Volumes).join(' '),
    ACCOUNT: config.User,
  }
  const env = [...config.Env, ...Object.entries(how.env).map(([name, value]) => `${name}=${value}`)]
  const command = commandOf(config)
  const namespaces = ['unshare', '--mount', '--pid', '--fork', '--kill-child'] as const
  const program = [...namespaces, '/bin/sh', '-ec', ENTER, 'sh', ...env, ...command] as const
  return withMain(await startGantry(t, environment, undefined, [...program]), command)
}

const commandOf = ({ Entrypoint, Cmd }: ImageConfig) => [...Entrypoint, ...(Cmd ?? [])]

/** A signal to buildah would kill the container: the runtimes that people use signal its main process. */
function withMain(gantry: GantryProcess, command: string[]): Started {
  const main = findBelow(gantry.child.pid!, `${command.join('\0')}\0`)
  if (main === undefined) throw new Error(`no process runs ${command.join(' ')}`)
  const stop = async () => {
    const ended = once(gantry.child, 'close')
    process.kill(main, 'SIGTERM')
    await ended
    return gantry.child.exitCode
  }
  return { ...gantry, main, stop }
}

function findBelow(pid: number, commandLine: string): number | undefined {
  if (readFileSync(`/proc/${pid}/cmdline`, 'utf8') === commandLine) return pid
  for (const child of childrenOf(pid)) {
    const found = findBelow(child, commandLine)
    if (found !== undefined) return found
  }
}

/** Each thread has its own. */
function childrenOf(pid: number): number[] {
  const lists = readdirSync(`/proc/${pid}/task`).map((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'),
  )
  return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number))
}

/** Whether something is what the compose specification allows. Its formats and patterns have more words than the standard. */
export async function composeValidator(): Promise<ValidateFunction> {
  const { $schema, ...schema } = JSON.parse(await readFile(COMPOSE_SCHEMA, 'utf8'))
  return new Ajv({ strict: false, validateFormats: false }).compile(schema)
}

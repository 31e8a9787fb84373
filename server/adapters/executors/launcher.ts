// The launcher is a bash that executes orders, line by line, and reports. Gantry itself does not fork for a command:
// for a process of its size that takes longer than the command, and blocks everything else meanwhile.
//
// `view` prepares a mount namespace in which the files of Gantry are hidden, and keeps it open; `sandbox` makes a process
// namespace in a copy of one, with a keeper as its first process; `run` starts a command in a sandbox. Nothing that the launcher
// starts can gain privileges by executing a program.
//
//   launcher ─┬─ view: bash, gone when the launcher has opened its namespaces
//             ├─ one for each sandbox ── nsenter, unshare ── keeper
//             └─ one for each command ── nsenter ── setsid ── the command, in its own session
//
// Under an ordinary account, mounting takes a user namespace. Views and keepers are in it, with all capabilities
// there. The command is in another one inside of it: it has none, and cannot trace a process outside of its own.

import { spawn } from 'node:child_process'
import type { View } from './hidden.ts'
import { isRoot, type LocalTools } from './local-backend.ts'
import { onLines } from './output.ts'
import { BASH, BASH_OPTIONS, quote, STANDARD_PATH } from './preamble.ts'

// Arguments: `root` for commands of root, source and path of the server's root, then kind, id and path of everything
// to hide. A folder is entered before it is covered: so the one that was checked is the one that is covered,
// whatever happens to its path meanwhile. Root without capabilities could still read disks and change the kernel's
// settings: it gets no devices but the harmless ones.
const VIEW = `
set -e; umask 022
fail() { echo "$1"; exit 1; }
as=$1 source=$2 root=$3; shift 3
if [ "$root" ]; then
  { cd -P -- "$source" && [ "$(readlink /proc/self/cwd)" = "$source" ]; } || fail "$source has just been replaced"
  exec 4<.
fi
while [ $# -gt 0 ]; do
  kind=$1 id=$2 path=$3 at=$3 mode=ro; shift 3
  if [ $kind != file ] && [ -d "$path" ]; then cd -P -- "$path"; at=.; fi
  if [ "$(stat -Lc %d:%i -- "$at" 2>/dev/null)" != $id ]; then
    [ $kind = alias ] && continue
    fail "$path has been moved or replaced since Gantry started"
  fi
  if [ "$at" != . ]; then mount -c --bind /dev/null "$path"; continue; fi
  [ "$root" ] && [[ $root == "$path"/* ]] && mode=rw
  mount -c -t tmpfs -o mode=755,nosuid,nodev,noexec,$mode gantry .
  if [ $mode = rw ]; then
    mkdir -p -- "$root"
    mount -c --rbind /proc/self/fd/4 "$root"
    mount -o remount,bind,ro,nosuid,nodev,noexec "$path"
  fi
done
cd /
[ ! -d /dev/shm ] || mount -t tmpfs -o mode=1777,nosuid,nodev gantry /dev/shm
[ ! -d /dev/pts ] || mount -t devpts -o newinstance,ptmxmode=0666,mode=620 gantry /dev/pts
if [ $as = root ]; then
  for device in null zero full random urandom tty ptmx; do [ ! -e /dev/$device ] || mount --bind /dev/$device /dev/$device; done
  mount -o remount,bind,nodev,nosuid /dev
  while read -r _ _ _ _ point _; do
    [[ $point == /sys || $point == /sys/* ]] && mount -o remount,bind,ro "$point"
  done </proc/self/mountinfo
fi
echo ready; read -r`

// Arguments: its number, then what commands may only read. Descriptors 6 and 7 are the namespaces of the view, 4 takes
// reports.
// USR1: SIGTERM to everyone. USR2: the command itself has ended, so the others must go, and the sandbox with them; after a
// SIGTERM they keep their grace period. URG: they must go at once, and the sandbox is reused, unless something is left in it
// that is not a process, or USR1 came: a command can send it, too.
// Bash does not notice a signal between its last check for signals and the moment at which `read` waits, and USR2 often
// follows USR1 closely: both are repeated, and each is handled once.
const KEEPER = [
  '[ $$ = 1 ] || exit; exec 6<&- 7<&-',
  'for f; do [ ! -e $f ] || mount -o bind,ro $f $f || exit; done',
  'trap "trap \\"\\" USR1; t=1; kill -TERM -1" USR1',
  'trap "trap \\"\\" USR1 USR2; while [ \\$t ] && kill -0 -1 && { read -r -t 0.02; ((\\$? > 128)); }; do :; done; exit" USR2',
  'left() { while kill -KILL -1; do read -r -t 0.01; (($? > 128)) || return 0; done; for f in /proc/sysvipc/*; do [ ! -e $f ] || { read -r; ! read -r; } <$f || return 0; done; [ $t ]; }',
  'trap "left && exit; echo clean $0 0 >&4" URG',
  'echo ready; exec >&- 2>&-; read -r',
].join('; ')

// Descriptor 3 is a pipe on which nothing is ever sent: its end means that Gantry is dead.
// Descriptor 5 reports when the sandbox is ready, and ends when nothing in it is alive.
// Opening one end of a pipe waits for the other, unless it is opened for both first: Gantry may be dead by now.
// A command can stop setsid, which waits for it; nsenter then stops, too. Its process group is known, to be continued.
// setsid reports a signal by an error message, with the number as exit code; bash would make 137 of both.
// Without job control, bash makes background commands ignore SIGINT, and all that they start.
// Whatever else Gantry inherited when it was started is closed: no command gets it.
const LAUNCHER = `
set -m
for fd in /proc/$$/fd/*; do fd=\${fd##*/}; if ((fd > 3)); then exec {fd}<&-; fi; done
MOUNTS=() USERS=()
report() { local said=\${3//[[:cntrl:]]/ }; echo "$1 $2 \${said:0:500}"; }
close_views() { local fd; for fd in "\${MOUNTS[@]}" "\${USERS[@]}"; do exec {fd}<&-; done; }
view() {
  local id=$1 said fd; shift
  exec 5< <(close_views; exec "\${VIEW[@]}" "$@" <&3 3<&- 2>&1)
  read -r -u 5 said
  if [ "$said" = ready ] && exec {fd}</proc/$!/ns/mnt && MOUNTS[id]=$fd && exec {fd}</proc/$!/ns/user; then
    USERS[id]=$fd
    report viewed $id 0
  else
    report viewed $id "1 $said"
  fi
  kill $! 2>/dev/null
  exec 5<&-
}
forget() {
  local fd=\${MOUNTS[$1]}; [ $fd ] && exec {fd}<&-
  fd=\${USERS[$1]}; [ $fd ] && exec {fd}<&-
  unset "MOUNTS[$1]" "USERS[$1]"
}
sandbox() {
  local id=$1 view=$2 said keeper; shift 2
  exec 6<&\${MOUNTS[$view]} 7<&\${USERS[$view]}
  close_views
  exec 4>&1
  exec </dev/null 5< <(exec "\${UNSHARE[@]}" $id "$@" <&3 3<&- 2>&1) 6<&- 7<&-
  read -r -u 5 said
  if [ "$said" = ready ]; then
    read -r keeper </proc/$!/task/$!/children
    echo "at $id $keeper"
  fi
  read -r -u 5
  report gone $id "0 $said"
}
run() {
  local id=$1 in=/proc/$PPID/fd/$2 out=/proc/$PPID/fd/$3 keeper=$4 said; shift 4
  echo "at $id $BASHPID"
  exec </dev/null
  close_views
  while [ "$1" != -- ]; do export "$1"; shift; done; shift
  said=$(
    exec 6<>"$in" 7<>"$out" 8<"$in" 9>"$out"
    exec "\${NSENTER[@]}" --target=$keeper "$@" "\${COMMAND[@]}" 2>&1 <&8 >&9 3<&- 6<&- 7<&- 8<&- 9<&-
  )
  report ended $id "$? $said"
}
while read -r line; do eval "$line"; done
wait`

function scriptOf({ unshare, nsenter, setsid }: LocalTools): string {
  const array = (name: string, words: (string | number)[]) =>
    `${name}=(${words.map((word) => quote(String(word))).join(' ')})\n`
  const bash = [BASH, '--norc', '-c']
  const mayMount = isRoot() ? [] : ['--user', '--map-root-user']
  const intoUser = isRoot() ? [] : ['--user=/proc/self/fd/7', '--preserve-credentials']
  const toKeeper = isRoot() ? [] : ['--user', '--preserve-credentials']
  const asItself = isRoot()
    ? []
    : [unshare, '--user', `--map-user=${process.getuid!()}`, `--map-group=${process.getgid!()}`]
  // With a /proc of the namespace: otherwise the process ids that scripts find there would be wrong.
  const own = [
    '--mount',
    '--propagation=unchanged',
    '--pid',
    '--ipc',
    '--fork',
    '--kill-child',
    '--mount-proc',
  ]
  return [
    array('VIEW', [unshare, ...mayMount, '--mount', '--propagation=private', ...bash, VIEW, 'view']),
    array('UNSHARE', [
      ...[nsenter, ...intoUser, '--mount=/proc/self/fd/6'],
      ...[unshare, ...own, ...bash, KEEPER],
    ]),
    array('NSENTER', [nsenter, ...toKeeper, '--pid', '--mount', '--ipc']),
    array('COMMAND', [...asItself, setsid, '--fork', '--wait', BASH, ...BASH_OPTIONS]),
    LAUNCHER,
  ].join('')
}

/** The arguments of the order `view`. `asRoot`: for commands of root. */
export function viewArguments({ hidden, root }: View, asRoot: boolean): string {
  const words = [
    ...[asRoot ? 'root' : 'account', root?.source ?? '', root?.path ?? ''],
    ...hidden.flatMap(({ path, id, isFolder, isAlias }) => [
      isAlias ? 'alias' : isFolder ? 'folder' : 'file',
      id,
      path,
    ]),
  ]
  return words.map(quote).join(' ')
}

export type Report = { word: string; id: number; number: number; rest: string }

export type Launcher = ReturnType<typeof startLauncher>

export function startLauncher(tools: LocalTools) {
  const bash = spawn(tools.setpriv, ['--no-new-privs', BASH, '--norc', '-c', scriptOf(tools)], {
    cwd: '/',
    // A signal to Gantry's process group is not for the launcher.
    detached: true,
    env: { PATH: STANDARD_PATH },
    stdio: ['pipe', 'pipe', 'ignore', 'pipe'],
  })
  const [input, output, lifePipe] = [bash.stdin!, bash.stdout!, bash.stdio[3]!]
  const listeners = new Map<number, (report: Report | undefined) => void>()
  const gone = new Promise<void>((resolve) => {
    bash.once('error', () => resolve())
    bash.once('exit', () => resolve())
  }).then(() => {
    lifePipe.destroy()
    for (const listen of listeners.values()) listen(undefined)
  })
  for (const stream of [input, output, lifePipe]) stream.on('error', () => {})
  onLines(output, (line) => {
    const [word = '', id, number, ...rest] = line.split(' ')
    const listen = listeners.get(Number(id))
    if (word !== 'at' && word !== 'clean') listeners.delete(Number(id))
    listen?.({ word, id: Number(id), number: Number(number), rest: rest.join(' ') })
  })
  let ids = 0
  return {
    /** `listen` receives every report about the order; undefined when there will be no more. */
    order(line: (id: number) => string, listen: (report: Report | undefined) => void): void {
      const id = ++ids
      listeners.set(id, listen)
      input.write(`${line(id)}\n`)
    },
    /** An order without a report. */
    tell: (line: string) => void input.write(`${line}\n`),
    gone,
    end: () => void input.end(),
  }
}

export function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has just ended.
  }
}

// What the tests need from the system. As root, installs what is missing; otherwise prints what to install.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const TOOLS = [
  { package: 'git', program: '/usr/bin/git' },
  { package: 'bsdutils', program: '/usr/bin/script' },
  { package: 'curl', program: '/usr/bin/curl' },
  { package: 'openssl', program: '/usr/bin/openssl' },
  { package: 'openssh-server', program: '/usr/sbin/sshd' },
  { package: 'systemd', program: '/usr/bin/systemd-analyze' },
  { package: 'chromium', program: process.env.CHROMIUM ?? '/usr/bin/chromium' },
]

const missing = TOOLS.filter(({ program }) => !existsSync(program)).map((tool) => tool.package)
if (missing.length > 0 && !install(missing)) {
  console.error(`gantry: the tests need more from the system: sudo apt-get install ${missing.join(' ')}`)
  process.exit(1)
}

function install(packages) {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return false
  console.log(`gantry: installing ${packages.join(', ')} for the tests…`)
  const run = (...args) =>
    spawnSync('apt-get', args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    }).status === 0
  return run('update', '-qq') && run('install', '-y', '-qq', '--no-install-recommends', ...packages)
}

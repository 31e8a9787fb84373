// What a step on a local server can find out about the Gantry that runs it, over HTTP, as root and under an ordinary
// account: nothing. Each attack is one run.
import assert from 'node:assert/strict'
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { asRoot } from '#platform/database/embedded/fixtures.ts'
import { type LocalGantry, openLocalGantry, type Ran } from '#test/support/local-steps.ts'

/** Numbers of system calls that perl has no function for. */
const CALLS = process.arch === 'arm64' ? { ptrace: 117, readMemory: 270 } : { ptrace: 101, readMemory: 310 }

for (const account of asRoot ? (['root', 'ordinary'] as const) : (['ordinary'] as const)) {
  describe(`local steps of a Gantry that runs ${account === 'root' ? 'as root' : 'under an ordinary account'}`, () => {
    const closers: (() => Promise<void>)[] = []
    let world: LocalGantry
    let attack: Awaited<ReturnType<LocalGantry['addServer']>>
    let home: string
    let key: string
    let pid: number
    /** In the PATH of Gantry, where everybody may write. */
    let programs: string

    before(async () => {
      programs = await mkdtemp(join(tmpdir(), 'gantry-programs-'))
      closers.push(() => rm(programs, { recursive: true }))
      await chmod(programs, 0o777)
      world = await openLocalGantry({ after: (fn) => void closers.push(fn) }, account, {
        environment: {
          GANTRY_TEST_SECRET: 'in-the-environment',
          PATH: `${programs}:${process.env.PATH}`,
        },
      })
      home = world.home
      pid = world.gantry.child.pid!
      key = (await readFile(join(home, 'secret.key'), 'utf8')).trim()
      await mkdir(join(home, 'neighbor'), { mode: 0o777 })
      await writeFile(join(home, 'neighbor/index.html'), 'of another server', { mode: 0o644 })
      attack = await world.addServer('here', join(home, 'sites'))
    })
    after(async () => {
      for (const close of closers.reverse()) await close()
    })

    const assertNoSecret = ({ output }: Ran) => {
      assert.ok(!output.includes(key), output)
      assert.doesNotMatch(output, /in-the-environment|PG_VERSION|of another server/)
    }

    test('it works below its root: it writes there, reads the system, and uses /tmp and the network', async () => {
      const { status, output } = await attack(`set -e
        cd ${home}/sites; echo hello > page; cat page; test -r /etc/passwd; touch $(mktemp)
        git init -q work; echo over > /dev/stderr; perl -MIO::Socket::INET -e 'IO::Socket::INET->new(Listen => 1) or die'`)
      assert.deepEqual([status, output], ['completed', 'hello\nover\n'])
      assert.equal(await readFile(join(home, 'sites/page'), 'utf8'), 'hello\n')
    })

    test('it sees nothing of the home but its root, and cannot write there', async () => {
      const ran =
        await attack(`ls -A ${home}; cat ${home}/secret.key; ls ${home}/postgres; cat ${home}/neighbor/*
        touch ${home}/x; mkdir ${home}/postgres; mv ${home} ${home}-moved; rmdir ${home}; echo over`)
      assertNoSecret(ran)
      assert.match(ran.output, /^sites\n/)
      assert.match(ran.output, /over\n$/)
      for (const what of ['secret.key', 'postgres', 'neighbor/*'])
        assert.ok(
          ran.output.includes(`${home}/${what}': No such file`) ||
            ran.output.includes(`${home}/${what}: No such file`),
          what,
        )
    })

    test('it cannot connect to the database', async () => {
      const ran = await attack(`perl -MIO::Socket::UNIX -e '
        for (@ARGV) { print IO::Socket::UNIX->new(Peer => $_) ? "connected\\n" : "$!\\n" }' ${home}/postgres/.s.PGSQL.5432
        ls -A /dev/shm /run/user | grep -v : ; ipcs -m | grep -c 0x; echo over`)
      assert.equal(ran.output.replace(/\n+/g, '\n'), 'No such file or directory\n0\nover\n')
    })

    test('it sees no process but its own, and cannot signal another', async () => {
      const ran =
        await attack(`cat /proc/${pid}/environ /proc/${pid}/cmdline; cat /proc/${pid}/root${home}/secret.key
        for p in /proc/[0-9]*; do cat $p/root${home}/secret.key; tr '\\0' '\\n' <$p/environ; done 2>/dev/null
        ls -d /proc/[0-9]* | wc -l; kill -9 ${pid}; (kill -9 -1 2>/dev/null); echo over`)
      assertNoSecret(ran)
      assert.match(ran.output, /\n[1-9]\n/)
      assert.match(ran.output, new RegExp(`\\(${pid}\\) - No such process`))
      assert.equal((await world.ask('GET', '/users/me')).status, 200)
    })

    test('it can trace neither Gantry nor what launches it', async () => {
      const ran = await attack(`perl -e '
        for my $pid (${pid}, 1) {
          print syscall(${CALLS.ptrace}, 16, $pid, 0, 0), " ";
          my ($bytes, $n) = ("x" x 64, 64);
          my $here = pack("QQ", unpack("Q", pack("p", $bytes)), $n);
          print syscall(${CALLS.readMemory}, $pid, $here, 1, pack("QQ", 65536, $n), 1, 0), "\\n";
        }'
        head -c 1 /proc/1/mem; ls /proc/1/root/ /proc/1/cwd/; readlink /proc/1/fd/*; cat /proc/1/environ; echo over`)
      assertNoSecret(ran)
      const [gantry, keeper] = ran.output.split('\n')
      assert.deepEqual([gantry, keeper], ['-1 -1', '-1 -1'])
      assert.ok(!ran.output.includes(home), ran.output)
    })

    test('it cannot uncover what is hidden, not even as root of its own user namespace', async () => {
      const attempts = [
        `umount ${home}`,
        `umount -l ${home}`,
        `umount -l /`,
        'umount -l /proc',
        `mount -o remount,rw ${home}`,
        `mount -o remount,bind,rw ${home}`,
        `mount --bind ${home}/.. $m`,
        `mount --bind / $m`,
        `mount --rbind / $m && umount -l $m${home}`,
        `mount --move ${home} $m`,
        `mount -t overlay -o lowerdir=${join(home, '..')} none $m`,
        `mount -t overlay -o lowerdir=/ none $m`,
        `mount --rbind / $m && cd $m && mkdir -p $m/tmp/old && pivot_root . tmp/old`,
        'mount -t proc none $m',
      ]
      const look = `cat ${home}/secret.key $m/secret.key $m/*/secret.key $m${home}/secret.key; ls ${home}/postgres $m/*/postgres; touch ${home}/x && echo wrote`
      const script = attempts
        .map(
          (one) =>
            `${one}; ${look}; unshare -Urm bash -c '${one}; ${look}; cat /proc/${pid}/environ $m/${pid}/environ'`,
        )
        .join('\n')
      const ran = await attack(`export m=$(mktemp -d)\n${script}\nls $m; echo over`)
      assertNoSecret(ran)
      assert.doesNotMatch(ran.output, /wrote/)
      assert.match(ran.output, /over\n$/)
    })

    test('it cannot enter the namespaces of another process', async () => {
      const ran =
        await attack(`for p in 1 ${pid}; do nsenter -t $p -m cat ${home}/secret.key; nsenter -t $p -U -m cat ${home}/secret.key
        unshare -Ur nsenter -t $p -m cat ${home}/secret.key; done; chroot /proc/1/root cat ${home}/secret.key
        ls -l /proc/self/fd | wc -l; echo over`)
      assertNoSecret(ran)
      // A total, three pipes, and the folder that ls reads.
      assert.match(ran.output, /\n5\nover\n$/)
    })

    test('it has no capabilities and cannot gain any', async () => {
      const ran = await attack(`grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs):' /proc/self/status
        sudo -n id; su -c id </dev/null; mount -t tmpfs none /mnt; echo over`)
      assert.match(ran.output, /^(Cap\w+:\t0{16}\n){4}NoNewPrivs:\t1\n/)
      assert.doesNotMatch(ran.output, /uid=0/)
    })

    test('a setuid program gives it nothing', { skip: !asRoot && 'only root makes one' }, async () => {
      await copyFile('/usr/bin/id', join(home, 'sites/id'))
      await chmod(join(home, 'sites/id'), 0o4755)
      const ran = await attack(`${home}/sites/id -u; id -u`)
      const [withHelper, without] = ran.output.split('\n')
      assert.equal(withHelper, without)
      assert.notEqual(without, '0')
    })

    test('it has no terminal, and none of another session', async () => {
      const ran = await attack('tty; ls -A /dev/pts; echo x > /dev/tty; ps -o tty= $$')
      assert.match(ran.output, /^not a tty\nptmx\n.*\/dev\/tty: No such device or address\n\?/)
    })

    test('it cannot change settings of the kernel, not even those of its own namespaces', async () => {
      const settings = [
        'kernel/shmmni',
        'kernel/msgmax',
        'kernel/sem',
        'fs/mqueue/queues_max',
        'kernel/pid_max',
      ]
      const write = settings.map((name) => `{ cat /proc/sys/${name} >/proc/sys/${name} && echo written; }`)
      const { output } = await attack(`${write.join('; ')}; echo over`)
      assert.doesNotMatch(output, /written/)
      assert.match(output, /\nover\n$/)
    })

    test("it cannot change Gantry's own code", async () => {
      const { checkout } = world
      const ran = await attack(`touch ${checkout}/server/x ${checkout}/x; ls -A ${checkout}; echo over`)
      assert.match(ran.output, /cannot touch[\s\S]*cannot touch/)
      assert.match(ran.output, /\nover\n$/)
      assert.doesNotMatch(ran.output, /package.json/)
    })

    test('one server does not see the root of another below the home', async () => {
      const other = await world.addServer('beside', join(home, 'beside'))
      await other(`echo mine > ${home}/beside/page; ls -A ${home}`)
      const ran = await attack(`ls -A ${home}; cat ${home}/beside/page`)
      assert.match(ran.output, /^sites\n.*No such file or directory\n/)
      assert.match((await other(`ls -A ${home}`)).output, /^beside\n/)
    })

    test('a root that belongs to Gantry is refused when the server is saved', async () => {
      await symlink(join(home, 'postgres'), join(home, 'sites/link'))
      const refused = ['', '/postgres', '/postgres/base', '/repositories', '/sites/link', '/sites/link/base']
      for (const path of refused) {
        const local = { name: `at ${path}`, provider_code: 'local', root_directory: `${home}${path}` }
        const answer = await world.ask('POST', '/environments/1/servers', local)
        assert.equal(answer.status, 422, path)
        assert.match(answer.body.errors.root_directory[0], /belongs to Gantry itself/)
      }
    })

    test('a root that a step replaces by a link into the home is unreachable', async () => {
      const inner = await world.addServer('inner', join(home, 'sites/inner'))
      assert.equal((await inner('true')).status, 'completed')
      await attack(`rm -rf ${home}/sites/inner; ln -s ${home}/postgres ${home}/sites/inner`)
      const ran = await inner(`ls -A ${home}/sites/inner ${home}/postgres`)
      assertNoSecret(ran)
      assert.deepEqual([ran.status, ran.reason], ['failed', 'FAILED_UNREACHABLE'])
    })

    test('the sample deploys', async () => {
      const pipelines = await world.ask('GET', '/pipelines/application/1')
      const run = await world.ask('POST', `/pipelines/${pipelines.body[0].id}/actions`, {})
      assert.equal(run.status, 201)
      assert.equal((await world.ended(run.body.id)).status, 'completed')
    })

    test('it cannot have Gantry start a program of its own instead of git', async () => {
      const git = `#!/bin/sh\ntouch ${programs}/started\nexec /usr/bin/git "$@"\n`
      const planted = await attack(`printf %s '${git}' > ${programs}/git; chmod 755 ${programs}/git`)
      assert.equal(planted.status, 'completed')
      const run = await world.ask('POST', '/pipelines/1/actions', {})
      assert.equal((await world.ended(run.body.id)).status, 'completed')
      assert.deepEqual(await readdir(programs), ['git'])
    })

    if (account === 'root') {
      test('a step that runs as root keeps its account, but neither sees the home nor controls the kernel', async () => {
        const ran = await attack(
          `id -u; chown nobody $(mktemp); ls -A ${home}; cat ${home}/secret.key; head -c 9 /dev/vda /dev/sda /dev/nvme0n1
          umount ${home}; mount -t tmpfs none /mnt; echo '|/tmp/x' > /proc/sys/kernel/core_pattern
          kill -9 ${pid}; cat /proc/1/environ; grep CapEff /proc/self/status`,
          'root',
        )
        assertNoSecret(ran)
        assert.match(ran.output, /^0\nsites\n/)
        assert.match(ran.output, /core_pattern: Read-only file system/)
        assert.match(ran.output, /CapEff:\t00000000000004fb\n$/)
        assert.doesNotMatch(ran.output, /chown:/)
      })
    }
  })
}

// What commands on this machine need to know of a Gantry that has no home of its own.
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const LOCAL_SETTINGS = {
  home: join(tmpdir(), `gantry-test-home-${process.getuid!()}`),
  socket: null,
  unsafeLocalSteps: false,
}

#!/usr/bin/env node
import '../dist/gantry.mjs'

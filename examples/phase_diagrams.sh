#!/bin/sh
# Phase diagrams of the two-mixture system from the command line, in some seconds: sh phase_diagrams.sh [DIRECTORY]
# Every diagram is a netCDF file with a picture beside it; an interrupted sweep goes on when the command is given again.
set -eu
out=${1:-diagrams}
mkdir -p "$out"

# a named diagram, with the boundary the theory predicts; `flowsys show mixture` lists them
flowsys phase mixture --diagram stage_2 --out "$out/stage_2.nc"

# the same file again, with more points along the boundary
flowsys phase mixture --refine "$out/stage_2.nc"

# a named diagram at other parameters: its lines and its title follow
flowsys phase mixture --diagram onset --set K=3 --out "$out/onset.nc"

# axes and quantities of one's own: start:stop:count[:log], or values; differences of events, observables at events
flowsys phase mixture --x omega=0.001:0.3:40:log --y s_star=0.5:4:30 \
    --observable "T_2-T_1,max_margin@T_2" --out "$out/length.nc"

# another quantity of a file, without computing anything
flowsys plot "$out/length.nc" --quantity max_margin@T_2 --out "$out/margin.png"

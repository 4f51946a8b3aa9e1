"""OpenFOAM's input for large eddies behind a backward-facing step: dictionaries written for this project.

Lengths in heights of the step, velocities in that of the inlet: a channel five heights high and ten long, a step down
by one height (expansion 1.2), twenty heights behind it, and a periodic span of four times ``span``; uniform hexahedra
with an edge of 1/n, 680 n^3 of them. Reynolds number 5,100 (Le, Moin, Kim), WALE's model, second order in time, steps
of 0.3/n (Courant number about 0.5).

Source: Le, Moin, Kim, J Fluid Mech 330 (1997) 349 (the flow); Nicoud, Ducros, Flow Turb Comb 62 (1999) 183 (WALE).
"""

from __future__ import annotations

_HEAD = "FoamFile {{ version 2.0; format ascii; class {kind}; object {name}; }}\n"
_CONTROL = """// shakedown: {n} {steps} {span} {seed} {speed:.6f}
application pisoFoam;
startFrom startTime;
startTime 0;
stopAt endTime;
endTime {end:.12g};
deltaT {step:.12g};
writeControl timeStep;
writeInterval {steps};
writeFormat binary;
writePrecision 12;
timePrecision 12;
runTimeModifiable no;
profiling {{ active true; cpuInfo false; memInfo false; sysInfo false; }}
functions
{{
  square
  {{
    type magSqr; libs ("libfieldFunctionObjects.so"); field U;
    executeControl timeStep; executeInterval {steps}; writeControl none;
  }}
  energy
  {{
    type volFieldValue; libs ("libfieldFunctionObjects.so"); fields (magSqr(U)); operation volIntegrate;
    regionType all; writeFields false; log true;
    executeControl timeStep; executeInterval {steps}; writeControl timeStep; writeInterval {steps};
  }}
  outlet
  {{
    type surfaceFieldValue; libs ("libfieldFunctionObjects.so"); fields (phi); operation sum; regionType patch; name outlet;
    writeFields false; log true;
    executeControl timeStep; executeInterval {steps}; writeControl timeStep; writeInterval {steps};
  }}
  inlet {{ $outlet; name inlet; }}
  profile
  {{
    type probes; libs ("libsampling.so"); fields (U); interpolationScheme cellPoint; fixedLocations true;
    writeControl timeStep; writeInterval {steps};
    probeLocations ( {probes} );
  }}
}}
"""
_SCHEMES = """ddtSchemes {{ default backward; }}
gradSchemes {{ default Gauss linear; }}
divSchemes {{ default none; div(phi,U) Gauss LUST grad(U); div((nuEff*dev2(T(grad(U))))) Gauss linear; }}
laplacianSchemes {{ default Gauss linear corrected; }}
interpolationSchemes {{ default linear; }}
snGradSchemes {{ default corrected; }}
"""
_SOLUTION = """solvers
{{
  p {{ solver GAMG; smoother DICGaussSeidel; tolerance 1e-6; relTol 0; }}
  pFinal {{ $p; }}
  U {{ solver smoothSolver; smoother symGaussSeidel; tolerance 1e-8; relTol 0; }}
  UFinal {{ $U; }}
}}
PISO {{ nCorrectors 2; nNonOrthogonalCorrectors 0; pRefCell 0; pRefValue 0; }}
"""
_MESH = """convertToMeters 1;
vertices
(
  (-10 1 0) (0 1 0) (20 1 0) (-10 6 0) (0 6 0) (20 6 0) (0 0 0) (20 0 0)
  (-10 1 {z}) (0 1 {z}) (20 1 {z}) (-10 6 {z}) (0 6 {z}) (20 6 {z}) (0 0 {z}) (20 0 {z})
);
blocks
(
  hex (0 1 4 3 8 9 12 11) ({a} {b} {c}) simpleGrading (1 1 1)
  hex (1 2 5 4 9 10 13 12) ({d} {b} {c}) simpleGrading (1 1 1)
  hex (6 7 2 1 14 15 10 9) ({d} {e} {c}) simpleGrading (1 1 1)
);
boundary
(
  inlet {{ type patch; faces ((0 8 11 3)); }}
  outlet {{ type patch; faces ((2 5 13 10) (7 2 10 15)); }}
  wall {{ type wall; faces ((0 1 9 8) (1 6 14 9) (6 7 15 14)); }}
  top {{ type symmetryPlane; faces ((3 11 12 4) (4 12 13 5)); }}
  front {{ type cyclic; neighbourPatch back; faces ((0 3 4 1) (1 4 5 2) (6 1 2 7)); }}
  back {{ type cyclic; neighbourPatch front; faces ((8 9 12 11) (9 10 13 12) (14 15 10 9)); }}
);
"""
_FIELD = """dimensions [{dimensions}];
internalField uniform {inner};
boundaryField
{{
  inlet {{ {inlet} }}
  outlet {{ {outlet} }}
  wall {{ {wall} }}
  top {{ type symmetryPlane; }}
  front {{ type cyclic; }}
  back {{ type cyclic; }}
}}
"""
#: Where the profile is taken: this far behind the step, at these heights.
PROFILE_X, PROFILE_Y = 5.0, (0.3, 0.7, 1.1, 1.7, 2.5, 3.5, 4.5, 5.5)


def _field(dimensions: str, inner: str, inlet: str, outlet: str, wall: str) -> str:
    return _FIELD.format(dimensions=dimensions, inner=inner, inlet=inlet, outlet=outlet, wall=wall)


def files(n: int, steps: int, span: int, halved: int, parts: tuple[int, ...], seed: int) -> dict[str, str]:
    """Every dictionary by its path, for a mesh of ``680 n^3 span`` cells in ``parts`` parts along x, y and z.

    The mesh that is made at first has half as many cells along each edge, and half of these, ``halved`` times.
    The seed moves the velocity of the inlet by up to a thousandth, so that two seeds are two flows.
    """
    speed = 1.0 + 1e-3 * ((seed * 7919) % 1000) / 1000
    m = n >> halved
    ranks = parts[0] * parts[1] * parts[2]
    zero = "type fixedValue; value uniform 0;"
    probes = " ".join(f"({PROFILE_X:g} {y:g} 2.01)" for y in PROFILE_Y)
    bodies = {
        "system/controlDict": _CONTROL.format(
            n=n, steps=steps, span=span, seed=seed, speed=speed, end=steps * 0.3 / n, step=0.3 / n, probes=probes
        ),
        "system/fvSchemes": _SCHEMES.format(),
        "system/fvSolution": _SOLUTION.format(),
        "system/blockMeshDict": _MESH.format(a=10 * m, b=5 * m, c=4 * m * span, d=20 * m, e=m, z=4 * span),
        "system/decomposeParDict": f"numberOfSubdomains {ranks};\nmethod simple;\n"
        f"simpleCoeffs {{ n ({' '.join(map(str, parts))}); delta 0.001; }}\n",
        "constant/transportProperties": f"transportModel Newtonian;\nnu {1 / 5100:.12g};\n",
        "constant/turbulenceProperties": "simulationType LES;\nLES { LESModel WALE; turbulence on; printCoeffs off; "
        "delta cubeRootVol; cubeRootVolCoeffs { deltaCoeff 1; } }\n",
        "0/p": _field("0 2 -2 0 0 0 0", "0", "type zeroGradient;", zero, "type zeroGradient;"),
        "0/nut": _field("0 2 -1 0 0 0 0", "0", zero, "type zeroGradient;", zero),
        "0/U": _field(
            "0 1 -1 0 0 0 0",
            f"({speed:.6f} 0 0)",
            f"type fixedValue; value uniform ({speed:.6f} 0 0);",
            "type zeroGradient;",
            "type noSlip;",
        ),
    }
    kinds = {"0/p": "volScalarField", "0/nut": "volScalarField", "0/U": "volVectorField"}
    return {
        path: _HEAD.format(kind=kinds.get(path, "dictionary"), name=path.split("/")[1]) + body
        for path, body in bodies.items()
    }
